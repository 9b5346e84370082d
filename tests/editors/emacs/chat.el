;;; chat.el --- checks: eglot chats in a chat document -*- lexical-binding: t -*-
(load (expand-file-name "harness" (file-name-directory load-file-name)))

(find-file (expand-file-name "notes.txt"))
(call-interactively #'eglot)
(let* ((server (check-until #'eglot-current-server))
       (opened (jsonrpc-request server :workspace/executeCommand
                                '(:command "palimpsest.chat.open" :arguments [(:title "Plans" :inFolder t)])
                                :timeout 60)))
  (find-file (plist-get opened :path))
  (check "the document shows the conversation" (check-until (lambda () (check-has "\n# Plans\n"))))
  (goto-char (point-max))
  (insert "Where does 🎉 grow?\n")
  (check-command "palimpsest.chat.send")
  (goto-char (point-max))
  (insert "Typed meanwhile.")
  (check "the answer comes in its place"
         (check-until (lambda () (check-has "## 0 · you\n\nWhere does 🎉 grow?\n\n## 1 · assistant\n\nIt grows 🎉 here.\n\n<!--"))))
  (check "what was typed meanwhile stands in the input" (equal (check-below) "Typed meanwhile."))
  (check "flymake is told nothing wrong" (check-until (lambda () (null (flymake-diagnostics)))))
  (check-until (lambda () (ignore-errors (check-command "palimpsest.chat.send") t)))
  (check "another answer begins" (check-until (lambda () (check-has "## 3 · assistant\n\nLine one"))))
  (check-command "palimpsest.chat.stop")
  (check "a stopped answer keeps what came"
         (check-until (lambda () (check-has "### 3 · cancelled: this is all that came"))))
  (check "the input is empty" (equal (check-below) "")))
(check-end)

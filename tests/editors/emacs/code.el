;;; code.el --- checks: code actions and slash commands in eglot -*- lexical-binding: t -*-
(load (expand-file-name "harness" (file-name-directory load-file-name)))
(defvar check-code (expand-file-name "pump.py"))

(defun check-act (title &optional beg end)
  "Takes eglot's action of this title; the server's answer."
  (with-current-buffer (find-file-noselect check-code)
    (goto-char (point-min))
    (search-forward "pump")
    (let* ((actions (append (eglot-code-actions (or beg (point)) (or end (point))) nil))
           (action (seq-find (lambda (each) (equal (plist-get each :title) title)) actions))
           (command (plist-get action :command)))
      (check (concat title " is offered") action)
      (when action
        (eglot-execute-command (eglot-current-server) (plist-get command :command) (plist-get command :arguments))))))

(find-file check-code)
(call-interactively #'eglot)
(check-until #'eglot-current-server)
(let ((opened (check-act "Explain")))
  (check "the draft is named" (equal (plist-get opened :draft) "Explain @pump.py:4-6."))
  (find-file (plist-get opened :path))
  (check "the draft is in the input of a chat document"
         (check-until (lambda () (check-has "Explain @pump.py:4-6.")))))
(let ((document (current-buffer)))
  (check-act "Write tests")
  (with-current-buffer document
    (check "the next one comes behind it"
           (check-until (lambda () (string-suffix-p "\n\nWrite tests for @pump.py:4-6." (check-below))))))
  (check-act "Ask about selection" 1 10)
  (with-current-buffer document
    (check "a selection is asked about" (check-until (lambda () (string-suffix-p "About @pump.py:1:" (check-below))))))
  (with-current-buffer (find-file-noselect check-code)
    (flymake-mode 1)
    (let* ((range (list :start (list :line 4 :character 4) :end (list :line 4 :character 8)))
           (diagnostics (vector (list :range range :message "pump is odd" :source "lint")))
           (actions (jsonrpc-request
                     (eglot-current-server) :textDocument/codeAction
                     (list :textDocument (eglot--TextDocumentIdentifier) :range range
                           :context (list :diagnostics diagnostics :only ["quickfix"]))))
           (command (plist-get (elt actions 0) :command)))
      (check "a problem is a quick fix" (equal (plist-get (elt actions 0) :title) "Fix this problem"))
      (eglot-execute-command (eglot-current-server) (plist-get command :command) (plist-get command :arguments))))
  (with-current-buffer document
    (check "the problem is quoted" (check-until (lambda () (string-suffix-p "> pump is odd [lint]" (check-below)))))
    (check-command "palimpsest.chat.send")
    (check "the draft is answered" (check-until (lambda () (check-has "The gate is blue."))))
    (check-until (lambda () (null (string-match-p "\\S-" (check-below)))))
    (dolist (each (json-parse-string (with-temp-buffer (insert-file-contents "slash.json") (buffer-string))
                                     :object-type 'plist :array-type 'list))
      (let ((typed (plist-get each :typed)) (expected (plist-get each :expected)) answer)
        (check-until (lambda ()
                       (eglot--signal-textDocument/didChange)
                       (setq answer
                             (condition-case problem
                                 (plist-get (eglot-execute-command
                                             (eglot-current-server) "palimpsest.command.run"
                                             (vector (list :text typed :uri (eglot--path-to-uri buffer-file-name))))
                                            :text)
                               (jsonrpc-error (format "%S" problem))))
                       (not (string-match-p "still being written\\|busy" answer))))
        (unless (check (concat "answers " typed) (string-match-p (regexp-quote expected) answer))
          (message "%s" answer))))))
(check-end)

;;; harness.el --- what the checks share -*- lexical-binding: t -*-
;; emacs -Q --batch -l chat.el, in the folder to chat about; CHECK_PYTHON is the server's Python.
(require 'package)
(setq package-user-dir (make-temp-file "elpa" t))
(add-to-list 'package-directory-list "/usr/share/emacs/site-lisp/elpa") ; -Q skips Debian's own start-up file
(package-initialize)
(require 'eglot)
(setq jsonrpc-default-request-timeout 60)
(setq eglot-sync-connect 60 eglot-autoshutdown t make-backup-files nil auto-save-default nil
      create-lockfiles nil eglot-confirm-server-initiated-edits nil)
(define-derived-mode chat-mode text-mode "Chat")
(add-to-list 'auto-mode-alist '("\\.\\(chat\\.md\\|txt\\|py\\)\\'" . chat-mode))
(add-to-list 'eglot-server-programs
             `(chat-mode . (,(getenv "CHECK_PYTHON") "-P" "-m" "palimpsest" "serve" "--stdio")))
(defvar check-failed nil)
(defun check (rule holds)
  (unless holds (setq check-failed t))
  (message "%s - %s" (if holds "holds " "BROKEN") rule)
  holds)
;; eglot reports changes when Emacs is idle. In batch mode it never is, but other timers run, also while a command is
;; waited for.
(run-with-timer
 0.1 0.1 (lambda ()
           (dolist (buffer (buffer-list))
             (with-current-buffer buffer
               (when (bound-and-true-p eglot--managed-mode) (eglot--signal-textDocument/didChange))))))
(defun check-until (test)
  (let ((end (+ (float-time) 60)) found)
    (while (and (not (setq found (funcall test))) (< (float-time) end))
      (accept-process-output nil 0.05))
    found))
(defun check-text () (buffer-substring-no-properties (point-min) (point-max)))
(defun check-has (text) (string-match-p (regexp-quote text) (check-text)))
(defun check-below ()
  (string-trim (cadr (split-string (check-text) "write your next message below this line, then send it. -->"))))
(defun check-command (name)
  (eglot--signal-textDocument/didChange)
  (eglot-execute-command (eglot-current-server) name (vector (list :uri (eglot--path-to-uri buffer-file-name)))))

(defun check-end ()
  (when check-failed (message "%s" (check-text)))
  (message (if check-failed "rules are broken" "rules hold"))
  (kill-emacs (if check-failed 1 0)))

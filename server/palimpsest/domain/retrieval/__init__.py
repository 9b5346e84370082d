"""Which of the messages and facts of a folder a question is about: values and rules, without any I/O."""

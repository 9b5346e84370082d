"""Does a fact tied to lines of a file still hold after the file was edited? Pure: texts in, verdicts out."""

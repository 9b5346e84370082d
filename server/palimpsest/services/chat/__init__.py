"""What users type beside messages: commands, mentions, attachments."""

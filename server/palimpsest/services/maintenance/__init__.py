"""Doctor, rescue and replay."""

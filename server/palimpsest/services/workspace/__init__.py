"""The files of a workspace folder that models and users may read."""

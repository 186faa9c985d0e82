"""Several writers of one text: processes, ranks and trainings whose lines come in turn."""

"""What training programs print: how its lines are read; what each framework prints is in dialects/."""

"""What runs on the server: store, analysis, incidents, notifications, HTTP."""

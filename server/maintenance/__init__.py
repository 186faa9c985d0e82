"""Maintenance of the database: retention, downsampling, deletion, backups, copies."""

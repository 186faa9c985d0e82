"""The pages: html, styles and plain ES modules under static/."""

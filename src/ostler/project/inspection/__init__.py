"""Find what a run would lack, before anything is paid for: settings, files, programs and logins."""

#!/usr/bin/env python3
"""Runs nginx in the foreground on a free port of loopback, which it prints first.

Usage: nginx_server.py DIRECTORY. Files of DIRECTORY/files are served at /files/."""

import os
import shutil
import socket
import sys

directory = sys.argv[1]
# This socket keeps the port until nginx has it; only sockets with this option and of this user can share it.
holder = socket.socket()
holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
holder.bind(("127.0.0.1", 0))
holder.set_inheritable(True)
port = holder.getsockname()[1]
os.makedirs(f"{directory}/files", exist_ok=True)
with open(f"{directory}/nginx.conf", "w", encoding="utf-8") as file:
    file.write(f"""
daemon off; master_process off; pid {directory}/nginx.pid; error_log {directory}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off; client_body_temp_path {directory}/bodies; proxy_temp_path {directory}/p;
    fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
    client_max_body_size 100k; keepalive_requests 7;
    server {{
        listen 127.0.0.1:{port} reuseport;
        root {directory};
        location /files/ {{ expires 60s; }}
        location /stale/ {{ alias {directory}/files/; expires -1; gzip on; gzip_types *; gzip_min_length 1; }}
        location /slow/ {{ alias {directory}/files/; limit_rate 200k; }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /files/$1 permanent; }}
    }}
}}
""")
print(port, flush=True)
program = shutil.which("nginx") or "/usr/sbin/nginx"
os.execv(program, [program, "-p", directory, "-c", f"{directory}/nginx.conf"])

"""nginx with its limit module before webdis: what a limiter costs where nothing is signed or counted."""

from pathlib import Path

PROGRAM = "nginx"


def config(port: int, webdis_port: int, folder: Path) -> str:
    """One process, because it has one core; a limit that nobody reaches; connections to webdis are kept."""
    return f"""
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/nginx-body;
    proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi;
    uwsgi_temp_path {folder}/nginx-uwsgi;
    scgi_temp_path {folder}/nginx-scgi;
    client_body_buffer_size 256k;
    keepalive_requests 1000000000;
    limit_req_zone $binary_remote_addr zone=callers:1m rate=1000000r/s;
    upstream webdis {{
        server 127.0.0.1:{webdis_port};
        keepalive 64;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            limit_req zone=callers burst=1000000 nodelay;
            proxy_pass http://webdis;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
}}
"""

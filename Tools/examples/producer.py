#!/usr/bin/env python3
"""Sends one notification to Carillon and waits for its status: producer.py ENDPOINT APP TOKEN TEXT [ID]

You may repeat a request with the same id: each device receives it once. Keep the message until it is acknowledged."""
import json, sys, time, uuid
import zmq

def push(endpoint, envelope, patience=60, answer_time=2):
    """Returns the final status: accepted, duplicate or rejected. After a TimeoutError, keep the message and try again."""
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.linger = 0
    # With CURVE, set socket.curve_serverkey, curve_publickey and curve_secretkey to b"40 characters" each.
    socket.connect(endpoint)
    deadline = time.monotonic() + patience
    try:
        while time.monotonic() < deadline:
            if socket.poll(1000, zmq.POLLOUT):
                socket.send_multipart([b"push/1", json.dumps(envelope).encode()])
            until = min(deadline, time.monotonic() + answer_time)
            while socket.poll(max(0, until - time.monotonic()) * 1000):
                kind, text = socket.recv_multipart()
                status = json.loads(text)
                if status["id"] != envelope["id"]:
                    continue  # the answer to an earlier message
                if status["status"] != "busy":
                    return status
                time.sleep(status["retry_after_ms"] / 1000)
                break
        raise TimeoutError("no final answer; send the message again")
    finally:
        socket.close()

if __name__ == "__main__":
    if len(sys.argv) < 5: sys.exit(print(__doc__) or 64)
    endpoint, app, token, text = sys.argv[1:5]
    name = sys.argv[5] if len(sys.argv) > 5 else str(uuid.uuid4())
    status = push(endpoint, {"id": name, "app": app, "to": {"tokens": [token]}, "alert": text})
    print(json.dumps(status))
    sys.exit(65 if status["status"] == "rejected" else 0)

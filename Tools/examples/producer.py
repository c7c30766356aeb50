#!/usr/bin/env python3
"""Sends one notification to Carillon and waits for its status: producer.py ENDPOINT APP TOKEN [TEXT [ID]]

Exit status: 0 accepted or duplicate, 1 rejected, 75 no final answer (keep the message and run this again with the
same ID: each device receives it once). The variable PATIENCE is the time limit in seconds (60). Needs python3-zmq."""
import json, os, sys, time, uuid
import zmq

def push(endpoint, envelope, patience=60, answer_time=2):
    """Returns the final status: accepted, duplicate or rejected. After a TimeoutError, keep the message and try again."""
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.linger = 0
    socket.immediate = True  # Nothing is queued for a connection that does not exist yet.
    # With CURVE, set socket.curve_serverkey, curve_publickey and curve_secretkey to b"40 characters" each.
    socket.connect(endpoint)
    deadline = time.monotonic() + patience
    def wait(flag):
        return socket.poll(max(0, min(answer_time, deadline - time.monotonic())) * 1000, flag)
    try:
        while time.monotonic() < deadline:
            if not wait(zmq.POLLOUT):
                continue  # not connected
            socket.send_multipart([b"push/1", json.dumps(envelope).encode()])
            while wait(zmq.POLLIN):
                kind, text = socket.recv_multipart()
                status = json.loads(text)
                if status["id"] not in (envelope["id"], None):
                    continue  # the answer to another message, if you reuse the socket
                if status["status"] != "busy":
                    return status
                time.sleep(max(0, min(status["retry_after_ms"] / 1000, deadline - time.monotonic())))
                break
        raise TimeoutError("no final answer; send the message again with the same id")
    finally:
        socket.close()

if __name__ == "__main__":
    if len(sys.argv) not in (4, 5, 6): sys.exit(print(__doc__) or 64)
    endpoint, app, token, text, name = sys.argv[1:] + ["Hello", str(uuid.uuid4())][len(sys.argv) - 4:]
    envelope = {"id": name, "app": app, "to": {"tokens": [token]}, "alert": text}
    try:
        status = push(endpoint, envelope, patience=float(os.environ.get("PATIENCE", 60)))
    except TimeoutError as error:
        sys.exit(print(f"{name}: {error}", file=sys.stderr) or 75)
    except zmq.ZMQError as error:
        sys.exit(print(f"cannot connect to {endpoint}: {error}", file=sys.stderr) or 64)
    print(json.dumps(status))
    sys.exit(1 if status["status"] == "rejected" else 0)

#!/usr/bin/env python3
"""Sends one notification to Carillon and waits for its status: producer.py ENDPOINT APP TOKEN [TEXT [ID]]

Exit status: 0 accepted or duplicate, 1 rejected, 75 no final answer (keep the message and run this again with the
same ID: each device receives it once). The variable PATIENCE is the time limit in seconds (60). Needs python3-zmq."""
import json, os, sys, time, uuid
import zmq

def push(endpoint, envelope, patience=60, answer_time=2):
    """Returns the final status: accepted, duplicate or rejected. After a TimeoutError, keep the message and try again."""
    deadline = time.monotonic() + patience
    def left(most):
        return max(0, min(most, deadline - time.monotonic()))
    with zmq.Context.instance().socket(zmq.DEALER) as socket:
        socket.linger, socket.immediate = 0, True  # Nothing is queued for a connection that does not exist yet.
        # With CURVE, set socket.curve_serverkey, curve_publickey and curve_secretkey to b"40 characters" each.
        socket.connect(endpoint)
        while left(answer_time):
            if not socket.poll(left(answer_time) * 1000, zmq.POLLOUT):
                continue  # not connected
            socket.send_multipart([b"push/1", json.dumps(envelope).encode()])
            while socket.poll(left(answer_time) * 1000):
                status = json.loads(socket.recv_multipart()[1])
                if status["id"] not in (envelope["id"], None):
                    continue  # the answer to another message, if you reuse the socket
                if status["status"] != "busy":
                    return status
                time.sleep(left(status["retry_after_ms"] / 1000))
                break
    raise TimeoutError("no final answer; send the message again with the same id")

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

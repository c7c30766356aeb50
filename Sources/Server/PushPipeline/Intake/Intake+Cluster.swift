import PushModel
import PushWire

/// Requests for the nodes of the cluster, `["cluster/1"]`, so that a producer can connect to the owner of a partition.
extension Intake {
    /// Answers also when intake is full: a producer may ask because this node is.
    func tellNodes(to frames: RequestFrames) {
        if case .stranger(let userID) = frames.caller {
            let rejection = Rejection(
                .forbidden,
                detail: "the key \(userID) is no longer in security.clients; connect with the client's current key")
            return refuse(EnvelopeFault(id: nil, rejection: rejection, app: nil), "ack/1", frames)
        }
        answer.append(contentsOf: settings.nodes())
        unsafe say("nodes/1", to: frames.identity, via: frames.route)
    }
}

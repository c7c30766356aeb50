/// A request to the ZAP handler (ZeroMQ RFC 27), which asks whether a client may connect.
struct ZAPRequest: Hashable, Sendable {
    enum Mechanism: Hashable, Sendable {
        case curve(CurvePublicKey)
        /// NULL, PLAIN or GSSAPI, which prove no key.
        case other(String)
    }

    /// The reason why a request cannot be answered.
    enum Fault: Error, Hashable, Sendable {
        case tooFewFrames(Int)
        case tooManyFrames(Int)
        case unknownVersion
        case badKey

        var text: String {
            switch self {
            case .tooFewFrames(let count): "malformed request: too few frames (\(count))"
            case .tooManyFrames(let count): "malformed request: too many frames (\(count))"
            case .unknownVersion: "malformed request: not version 1.0"
            case .badKey: "malformed request: a CURVE key must be one frame of 32 bytes"
            }
        }
    }

    let domain: String
    let address: String
    let mechanism: Mechanism

    /// Parses the frames: version, request id, domain, address, routing id, mechanism, and the credentials of the
    /// mechanism.
    init(_ message: borrowing ZMQMessage) throws(Fault) {
        guard message.count >= 6 else { throw .tooFewFrames(message.count) }
        guard Self.text(ofFrame: 0, in: message) == "1.0" else { throw .unknownVersion }
        domain = Self.text(ofFrame: 2, in: message)
        address = Self.text(ofFrame: 3, in: message)
        let name = Self.text(ofFrame: 5, in: message)
        guard name == "CURVE" else {
            mechanism = .other(name)
            return
        }
        let key = message.count == 7 ? unsafe message.withBytes(ofFrame: 6) { unsafe CurvePublicKey(bytes: $0) } : nil
        guard let key else { throw .badKey }
        mechanism = .curve(key)
    }

    private static func text(ofFrame index: Int, in message: borrowing ZMQMessage) -> String {
        unsafe message.withBytes(ofFrame: index) { unsafe String(decoding: $0.prefix(255), as: UTF8.self) }
    }
}

/// The reply of the handler.
enum ZAPReply: Hashable, Sendable {
    /// The client is accepted. A ROUTER uses `routingID` for it; if that is empty, it uses the one that the client
    /// sends.
    case accepted(userID: String, routingID: [UInt8] = [])
    /// The client is refused.
    case refused(String)
    /// The client is refused for now. It reconnects automatically.
    case tryAgain
    /// The request was malformed, which is an error of libzmq or of this code.
    case failed(String)

    var status: StaticString {
        switch self {
        case .accepted: "200"
        case .tryAgain: "300"
        case .refused: "400"
        case .failed: "500"
        }
    }

    var text: String {
        switch self {
        case .accepted: "OK"
        case .tryAgain: "try again"
        case .refused(let text), .failed(let text): text
        }
    }

    var userID: String {
        if case .accepted(let userID, _) = self { userID } else { "" }
    }

    /// The metadata that libzmq adds to the handshake. Each property consists of the length of its name (8 bits), its
    /// name, the length of its value (32 bits) and its value. A ROUTER takes the routing id of its peer from
    /// `Identity`.
    var metadata: [UInt8] {
        guard case .accepted(_, let routingID) = self, !routingID.isEmpty else { return [] }
        let name = Array("Identity".utf8)
        // A routing id has at most 255 bytes.
        return [UInt8(name.count)] + name + [0, 0, 0, UInt8(routingID.count)] + routingID
    }
}

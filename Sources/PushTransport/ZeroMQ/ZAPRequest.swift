/// A question to the ZAP handler (ZeroMQ RFC 27): may this client in?
struct ZAPRequest: Hashable, Sendable {
    enum Mechanism: Hashable, Sendable {
        case curve(CurvePublicKey)
        /// NULL, PLAIN, GSSAPI: nothing that proves a key.
        case other(String)
    }

    /// Why a question cannot be answered.
    enum Fault: Error, Hashable, Sendable {
        case tooFewFrames(Int)
        case tooManyFrames(Int)
        case unknownVersion
        case badKey

        var text: String {
            switch self {
            case .tooFewFrames(let count): "malformed request: \(count) frames are too few"
            case .tooManyFrames(let count): "malformed request: \(count) frames are too many"
            case .unknownVersion: "malformed request: not version 1.0"
            case .badKey: "malformed request: a CURVE key has 32 bytes, alone"
            }
        }
    }

    let domain: String
    let address: String
    let mechanism: Mechanism

    /// Version, request id, domain, address, routing id, mechanism, then what the mechanism brings.
    init(_ message: borrowing ZMQMessage) throws(Fault) {
        guard message.count >= 6 else { throw .tooFewFrames(message.count) }
        guard Self.text(message, 0) == "1.0" else { throw .unknownVersion }
        domain = Self.text(message, 2)
        address = Self.text(message, 3)
        let name = Self.text(message, 5)
        guard name == "CURVE" else {
            mechanism = .other(name)
            return
        }
        let key = message.count == 7 ? unsafe message.withBytes(ofFrame: 6) { unsafe CurvePublicKey(bytes: $0) } : nil
        guard let key else { throw .badKey }
        mechanism = .curve(key)
    }

    private static func text(_ message: borrowing ZMQMessage, _ index: Int) -> String {
        unsafe message.withBytes(ofFrame: index) { unsafe String(decoding: $0.prefix(255), as: UTF8.self) }
    }
}

/// What the handler answers.
enum ZAPReply: Hashable, Sendable {
    /// The routing id is what a ROUTER shall know the client by; empty: what the client says.
    case accepted(userID: String, routingID: [UInt8] = [])
    /// The client may not in.
    case refused(String)
    /// For now: the client connects again by itself.
    case tryAgain
    /// The question made no sense, which is libzmq's fault or ours.
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

    /// What libzmq takes for part of the handshake: each property as its name's length (8 bits), its name, its value's
    /// length (32 bits), its value. A ROUTER takes its peer's routing id from `Identity`.
    var metadata: [UInt8] {
        guard case .accepted(_, let routingID) = self, !routingID.isEmpty else { return [] }
        let name = Array("Identity".utf8)
        // A routing id has 255 bytes at most.
        return [UInt8(name.count)] + name + [0, 0, 0, UInt8(routingID.count)] + routingID
    }
}

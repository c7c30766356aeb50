package import PushModel
import PushTime
package import PushTransport

extension Problem {
    /// Creates the answer to a request that is not allowed. It does not say which check failed, except where the client
    /// can do something about it.
    ///
    /// - Parameter roles: the roles of which the request needs one; empty if the key has one.
    package init(_ refusal: AccessRefusal, needing roles: [Role]) {
        switch refusal.code {
        case .unauthenticated:
            self.init(
                .unauthenticated,
                detail: "the request has no valid signature or bearer secret of an API key; the log of the server says "
                    + "what is wrong with it")
        case .clockSkew:
            self.init(
                .clockSkew,
                detail: "the signature was created too long ago or in the future, by the clock of the server")
            serverTime = refusal.serverTime.map { WallTime($0) }
        case .replayed:
            self.init(.replayed, detail: "a request with this nonce was received before; sign each request anew")
        case .forbidden:
            let reason =
                switch refusal.reason {
                case .addressNotAllowed: "may not be used from this address"
                case .appNotAllowed: "is limited to some apps, and this request is not"
                default:
                    switch roles.count {
                    case 0: "does not have a role for this request"
                    case 1: "does not have the role \(roles[0]), which this request needs"
                    default:
                        "has none of the roles \(roles.map(\.rawValue).joined(separator: ", ")), of which this "
                            + "request needs one"
                    }
                }
            self.init(.forbidden, detail: "the key \(refusal.key?.name.text ?? "-") \(reason)")
        case .tooManyRequests:
            self.init(.tooManyRequests, detail: "there are too many requests or failures; try again after Retry-After")
            retryAfterMilliseconds = refusal.retryAfter.map { Int64($0) * 1000 }
        }
        reason = refusal.reason
    }
}

extension Problem {
    package init(_ refusal: AccessRefusal) { self.init(refusal, needing: []) }
}

extension ProblemCode {
    /// The reason of a refusal of which nothing else is known; nil for problems of other kinds.
    var reason: AccessReason? {
        switch self {
        case .unauthenticated: .noCredentials
        case .clockSkew: .clockSkew
        case .replayed: .replayed
        case .forbidden: .notAllowed
        case .crossOrigin: .crossOrigin
        case .unknownHost: .unknownHost
        case .tooManyRequests: .tooManyRequests
        default: nil
        }
    }
}

extension Problem {
    /// Creates the answer to a request that HTTP refuses before an endpoint has it.
    package init(_ refusal: HTTP1Refusal) {
        let code: ProblemCode =
            switch refusal.status {
            case 405: .methodNotAllowed
            case 408: .requestTimeout
            case 413: .tooLarge
            case 414: .pathTooLong
            case 417: .expectationFailed
            case 431: .headTooLarge
            case 501: .notImplemented
            case 503: .unavailable
            case 505: .unsupportedVersion
            case 400..<500: .badRequest
            default: .internal
            }
        self.init(code, detail: refusal.sentence)
        if code == .unavailable { retryAfterMilliseconds = 1000 }
    }

    /// The codes of the answers that any request may get before its endpoint, or in its stead.
    package static let ofAnyRequest: [ProblemCode] = [
        .badRequest, .methodNotAllowed, .requestTimeout, .tooLarge, .pathTooLong, .expectationFailed, .headTooLarge,
        .internal, .notImplemented, .unavailable, .unsupportedVersion,
    ]
}

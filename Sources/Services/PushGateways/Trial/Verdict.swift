import PushLogic
package import PushModel
import PushText
import PushTransport

/// The result of a request to a push service: text for people, and a word for scripts.
package struct Verdict: Sendable {
    package enum Kind: String, Sendable {
        case accepted, rejected, unknown, unreachable
        case tryAgain = "try_again"
        case credentialRefused = "credential_refused"
        case badInput = "bad_input"
        case configuration
    }

    package var kind: Kind
    /// What happened, without a period at the end.
    package var meaning: String
    /// What to do; nil if there is nothing to do.
    package var advice: String?
    package var refusal: Refusal?
    package var providerID: String?
    /// Whether the provider responded with status 200.
    package var isAnswered = false

    package init(_ kind: Kind, _ meaning: String, advice: String? = nil, refusal: Refusal? = nil) {
        self.kind = kind
        self.meaning = PlainText.line(meaning)
        self.advice = advice
        self.refusal = refusal
    }
}

// MARK: Responses

extension Verdict {
    /// Creates the verdict for a response with an error status.
    package init(_ refusal: Refusal, by reasons: ReasonTable) {
        let disposition = reasons.disposition(of: refusal)
        let kind: Kind =
            switch refusal.status {
            case 429, 500...: .tryAgain
            // The gateway of the service has not reached it.
            case 0 where disposition == .retry: .unreachable
            case _ where disposition == .reconnect: .tryAgain
            default: reasons.refusesCredential(refusal) ? .credentialRefused : .rejected
            }
        var (meaning, advice) = reasons.explanation(of: refusal)
        switch disposition {
        case .retry where reasons.concern(of: refusal) != .device, .reconnect:
            // This command does not retry; only a running Carillon does.
            advice = "send it again later"
        case .renewToken:
            advice = "set this machine's clock: the token was created just now"
        default: break
        }
        if let timestamp = refusal.timestamp {
            meaning += ", since \(timestamp.utcText) at the latest"
        }
        if let seconds = refusal.retryAfter { advice += "; wait at least \(seconds) s" }
        self.init(kind, meaning, advice: advice, refusal: refusal)
    }

    package init(_ outcome: Trial.Outcome, of peer: TrialPeer) {
        switch outcome {
        case .accepted(let providerID):
            self.init(.accepted, peer.description.accepted)
            self.providerID = providerID
            isAnswered = peer.description.answers
        case .refused(let refusal):
            self.init(refusal, by: peer.reasons)
        case .stayedOpen:
            self.init(.accepted, "TLS handshake succeeded and the connection stayed open")
        case .unknown(let cause):
            let what =
                switch cause {
                case .timeout: "timed out waiting for the response"
                case .connectionLost: "connection lost before the response"
                case .reset: "the provider reset the request"
                case .serverError: "the provider answered with an error of its own"
                }
            self.init(
                .unknown, "\(what); the notification may have been accepted",
                advice: "check the device before you send it again")
        case .expired:
            self.init(.badInput, "it expired before it was sent", advice: "give a later --expires-at, or --ttl")
        case .dismissed(let reason):
            let known = peer.reasons.known(reason).map { ": \($0.meaning)" } ?? ""
            self.init(
                .tryAgain,
                "the provider returned the notification unprocessed each time"
                    + (reason.map { " (GOAWAY \($0)\(known))" } ?? ""), advice: "send it again later")
        case .halted(let halt):
            self.init(halt, by: peer.reasons)
        case .timedOut(let time):
            self.init(
                .tryAgain, "timed out: nothing could be sent to \(peer.address) within \(DurationText.write(time))",
                advice: "check that this machine can reach \(peer.address), or give more time with --timeout")
        case .notConnected(let end, let inTime):
            self.init(end, of: peer)
            if !inTime { kind = .tryAgain }
        }
    }

    private init(_ halt: GatewayHalt, by reasons: ReasonTable) {
        switch halt.kind {
        case .refused:
            let known = reasons.known(halt.reason)
            self.init(
                .credentialRefused, known.map { "\($0.reason): \($0.meaning)" } ?? halt.message,
                advice: reasons.credentialAdvice(for: halt.reason))
        case .certificate:
            self.init(
                .credentialRefused, halt.message,
                advice:
                    "check with 'carillon keys show' that the certificate is valid and for this service, and that the app "
                    + "has one if the service requires it")
        case .providerToken where halt.unreached != nil:
            self.init(.unreachable, halt.message, advice: halt.unreached?.advice)
        case .providerToken:
            self.init(.configuration, halt.message, advice: "check the key with 'carillon keys show'")
        }
    }

    private init(_ end: ConnectionEnd, of peer: TrialPeer) {
        let address = peer.address
        switch end.kind {
        case .unreachable:
            self.init(
                .unreachable, end.message,
                advice:
                    "check the host and port (\(address)), that a service listens there, and that DNS and firewalls allow "
                    + "this machine to connect")
        case .credential:
            self.init(
                .credentialRefused, end.message, advice: "check with 'carillon keys show' that the certificate is valid"
            )
        case .broken:
            self.init(
                .unreachable, end.message,
                advice: peer.isOfOwner
                    ? "check this machine's clock and CA certificates, and that no proxy intercepts TLS"
                    : "check that \(address) speaks \(peer.description.wireProtocol), that its certificate is valid, "
                        + "and that its CA is the trusted one (\(peer.trust))"
            )
        case .silent, .lost, .byUs:
            self.init(
                .unreachable, end.message,
                advice:
                    "check that \(address) is the push service, and that no proxy or firewall interrupts the connection"
            )
        case .goAway, .errorPacket:
            self.init(.tryAgain, end.message, advice: "send it again later")
        }
    }
}

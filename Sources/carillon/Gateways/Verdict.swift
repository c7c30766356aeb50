import APNs
import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushText
import PushWire

/// The result of a request to a push service: text for people, and a word and an exit code for scripts.
struct Verdict: Sendable {
    enum Kind: String, Sendable {
        case accepted, rejected, unknown, unreachable
        case tryAgain = "try_again"
        case credentialRefused = "credential_refused"
        case badInput = "bad_input"
        case configuration

        var code: ExitCode {
            switch self {
            case .accepted: .done
            case .rejected, .unknown: .failed
            case .badInput: .badInput
            case .unreachable: .unavailable
            case .tryAgain: .tryAgain
            case .credentialRefused: .notPermitted
            case .configuration: .configuration
            }
        }
    }

    var kind: Kind
    /// What happened, without a period at the end.
    var meaning: String
    /// What to do; nil if there is nothing to do.
    var advice: String?
    var refusal: Refusal?
    var providerID: String?
    /// Whether the provider responded with status 200.
    var isAnswered = false

    init(_ kind: Kind, _ meaning: String, advice: String? = nil, refusal: Refusal? = nil) {
        self.kind = kind
        self.meaning = PlainText.line(meaning)
        self.advice = advice
        self.refusal = refusal
    }

    var color: Terminal.Color {
        switch kind {
        case .accepted: .green
        case .tryAgain, .unknown: .yellow
        default: .red
        }
    }

    /// Returns the first line of the output: `rejected: 410 Unregistered: the device …`.
    func headline(on terminal: Terminal) -> String {
        let word = kind.rawValue.replacing("_", with: " ")
        let answer = refusal.map { ": \($0.status)\($0.reason.map { " \($0)" } ?? "")" } ?? ""
        return terminal.colored(word + answer, in: color) + ": " + meaning + "\n"
    }

    /// The members of the JSON output.
    var members: [String: JSONValue?] {
        var members: [String: JSONValue?] = [
            "outcome": .string(kind.rawValue), "exit_code": .integer(Int64(kind.code.rawValue)),
            "meaning": .string(meaning), "advice": .text(advice),
        ]
        if isAnswered { members["status"] = 200 }
        if let refusal {
            members["status"] = .integer(Int64(refusal.status))
            members["reason"] = .text(refusal.reason?.rawValue)
            members["retry_after_ms"] = refusal.retryAfter.map { .integer(Int64($0) * 1000) }
            members["since_at"] = refusal.timestamp.map { .integer($0.milliseconds) }
        }
        members["apns_unique_id"] = .text(providerID)
        return members
    }
}

extension MachineLine {
    /// Returns the JSON output for a failure before any request.
    static func text(_ failure: Failure) -> String {
        let kind: Verdict.Kind = [.configuration, .notPermitted].contains(failure.code) ? .configuration : .badInput
        return text([
            "outcome": .string(kind.rawValue), "exit_code": .integer(Int64(failure.code.rawValue)),
            "meaning": .string(failure.description),
        ])
    }
}

// MARK: Responses

extension Verdict {
    /// Creates the verdict for a response with an error status.
    init(_ refusal: Refusal, by reasons: ReasonTable = .apns) {
        let disposition = reasons.disposition(of: refusal)
        let kind: Kind =
            switch refusal.status {
            case 429, 500...: .tryAgain
            case _ where disposition == .reconnect: .tryAgain
            case 403: .credentialRefused
            default: refusal.reason == .topicDisallowed ? .credentialRefused : .rejected
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

    init(_ outcome: Trial.Outcome, of app: Configuration.App) {
        let isBinary = app.apns.wireProtocol == .binary
        switch outcome {
        case .accepted(let providerID):
            self.init(
                .accepted,
                isBinary
                    ? "the service received it and sent no error; the binary protocol has no other confirmation"
                    : "the provider accepted the notification; it does not report delivery")
            self.providerID = providerID
            isAnswered = !isBinary
        case .refused(let refusal):
            self.init(refusal)
        case .stayedOpen:
            self.init(.accepted, "TLS handshake succeeded and the connection stayed open")
        case .unknown(let cause):
            let what =
                switch cause {
                case .timeout: "timed out waiting for the response"
                case .connectionLost: "connection lost before the response"
                case .reset: "the provider reset the request"
                }
            self.init(
                .unknown, "\(what); the notification may have been accepted",
                advice: "check the device before you send it again")
        case .expired:
            self.init(.badInput, "it expired before it was sent", advice: "give a later --expires-at, or --ttl")
        case .dismissed(let reason):
            let known = ReasonTable.apns.known(reason).map { ": \($0.meaning)" } ?? ""
            self.init(
                .tryAgain,
                "the provider returned the notification unprocessed each time"
                    + (reason.map { " (GOAWAY \($0)\(known))" } ?? ""), advice: "send it again later")
        case .halted(let halt):
            self.init(halt)
        case .timedOut(let time):
            self.init(
                .tryAgain, "timed out: nothing could be sent to \(app.address) within \(DurationText.write(time))",
                advice: "check that this machine can reach \(app.address), or give more time with --timeout")
        case .notConnected(let end, let inTime):
            self.init(end, of: app)
            if !inTime { kind = .tryAgain }
        }
    }

    private init(_ halt: GatewayHalt) {
        switch halt.kind {
        case .refused:
            let known = ReasonTable.apns.known(halt.reason)
            self.init(
                .credentialRefused, known.map { "\(halt.reason!): \($0.meaning)" } ?? halt.message,
                advice: known?.advice ?? "check the credential and its environment")
        case .certificate:
            self.init(
                .credentialRefused, halt.message,
                advice:
                    "check with 'carillon keys show' that the certificate is valid and for this service, and that the app "
                    + "has one if the service requires it")
        case .providerToken:
            self.init(.configuration, halt.message, advice: "check the key with 'carillon keys show'")
        }
    }

    private init(_ end: ConnectionEnd, of app: Configuration.App) {
        let address = app.address
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
                advice: PushEnvironment.isHostOfApple(app.endpoint.host)
                    ? "check this machine's clock and CA certificates, and that no proxy intercepts TLS"
                    : "check that \(address) speaks "
                        + (app.apns.wireProtocol == .binary ? "the binary protocol over TLS" : "HTTP/2 over TLS")
                        + ", that its certificate is valid, and that its CA is the trusted one (\(app.endpoint.trust))"
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

extension Verdict {
    /// Creates the verdict for a failed request about broadcast channels.
    init(_ error: ChannelError, of app: Configuration.App, at address: String) {
        switch error {
        case .refused(let refusal, _):
            self.init(refusal)
        case .unreadable(let what):
            self.init(.unknown, "cannot parse the provider's response: \(what)", advice: "list the channels")
        case .notSent(let why):
            self.init(
                .unreachable, "\(address): nothing was sent: \(why)",
                advice:
                    "check the host and port, the trusted CA (\(app.endpoint.trust)), and that firewalls allow the connection"
            )
        case .timedOut(let time, wasSent: false):
            self.init(
                .tryAgain, "timed out: nothing could be sent to \(address) within \(DurationText.write(time))",
                advice: "check that this machine can reach it, or give more time with --timeout")
        case .unanswered, .timedOut, .cancelled, .busy, .closed:
            self.init(.unknown, "\(error)", advice: "check the result before you repeat the command")
        }
    }
}

extension Configuration.App {
    var address: String { "\(endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host):\(endpoint.port)" }
}

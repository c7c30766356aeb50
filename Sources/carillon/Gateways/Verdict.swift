import PushGateways
import PushLoop
import PushModel
import PushWire

/// What came of asking a push service for something: for people in words, for scripts as a word and an exit code.
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
    /// What happened, without an end mark.
    var meaning: String
    /// What to do; nil where there is nothing.
    var advice: String?
    var refusal: Refusal?
    var uniqueID: String?
    /// The provider said 200.
    var isAnswered = false

    init(_ kind: Kind, _ meaning: String, _ advice: String? = nil, refusal: Refusal? = nil) {
        self.kind = kind
        self.meaning = PlainText.line(meaning)
        self.advice = advice
        self.refusal = refusal
    }

    var colour: Terminal.Colour {
        switch kind {
        case .accepted: .green
        case .tryAgain, .unknown: .yellow
        default: .red
        }
    }

    /// The head line: `rejected: 410 Unregistered: the device …`.
    func headline(on terminal: Terminal) -> String {
        let word = kind.rawValue.replacing("_", with: " ")
        let answer = refusal.map { ": \($0.status)\($0.reason.map { " \($0)" } ?? "")" } ?? ""
        return terminal.coloured(word + answer, colour) + ": " + meaning + "\n"
    }

    /// What it says, for machines.
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
            members["since_at"] = refusal.timestamp.map { .integer($0) }
        }
        members["apns_unique_id"] = .text(uniqueID)
        return members
    }
}

extension MachineLine {
    /// What kept a verb from asking at all.
    static func text(_ failure: Failure) -> String {
        let kind: Verdict.Kind = [.configuration, .notPermitted].contains(failure.code) ? .configuration : .badInput
        return text([
            "outcome": .string(kind.rawValue), "exit_code": .integer(Int64(failure.code.rawValue)),
            "meaning": .string(failure.description),
        ])
    }
}

// MARK: Answers

extension Verdict {
    /// An answer that said no.
    init(_ refusal: Refusal) {
        let kind: Kind =
            switch refusal.status {
            case 429, 500...: .tryAgain
            case _ where refusal.disposition == .reconnect: .tryAgain
            case 403: .credentialRefused
            default: refusal.reason == .topicDisallowed ? .credentialRefused : .rejected
            }
        var (meaning, advice) = refusal.explanation
        switch refusal.disposition {
        case .retry where refusal.concern != .device, .reconnect:
            // Nobody does here what the gateway of a running Carillon does by itself.
            advice = "send it again in a while"
        case .renewToken:
            advice = "set this machine's clock right: the token was made a moment ago"
        default: break
        }
        if let timestamp = refusal.timestamp {
            meaning += ", since \(WallTime(milliseconds: timestamp).utcText) at the latest"
        }
        if let seconds = refusal.retryAfter { advice += "; not before \(seconds) s have passed" }
        self.init(kind, meaning, advice, refusal: refusal)
    }

    init(_ outcome: Trial.Outcome, of app: Configuration.App) {
        let isBinary = app.gateway.wireProtocol == .binary
        switch outcome {
        case .accepted(let uniqueID):
            self.init(
                .accepted,
                isBinary
                    ? "the service took it and did not complain, which is all that the binary protocol tells"
                    : "the provider took it; whether a device shows it nobody says")
            self.uniqueID = uniqueID
            isAnswered = !isBinary
        case .refused(let refusal):
            self.init(refusal)
        case .stayedOpen:
            self.init(.accepted, "TLS came to pass and the connection stayed open")
        case .unknown(let cause):
            let what =
                switch cause {
                case .timeout: "it was sent, and no answer came in time"
                case .connectionLost: "it was sent, and the connection was lost before the answer"
                case .reset: "it was sent, and the provider broke the request off"
                }
            self.init(
                .unknown, "\(what): it may have been accepted", "look at the device before you send it again")
        case .expired:
            self.init(.badInput, "it had expired before it was sent", "give a later --expires-at, or --ttl")
        case .dismissed(let reason):
            let known = reason?.known.map { ": \($0.meaning)" } ?? ""
            self.init(
                .tryAgain,
                "the provider turned the notification away each time, unprocessed"
                    + (reason.map { " (GOAWAY \($0)\(known))" } ?? ""), "send it again in a while")
        case .halted(let halt):
            self.init(halt)
        case .timedOut(let time):
            self.init(
                .tryAgain, "nothing could be sent to \(app.place) within \(DurationText.write(time))",
                "check that \(app.place) is reached from here, or give more time with --timeout")
        case .notConnected(let end, let inTime):
            self.init(end, of: app)
            if !inTime { kind = .tryAgain }
        }
    }

    private init(_ halt: GatewayHalt) {
        switch halt.kind {
        case .refused:
            let known = halt.reason?.known
            self.init(
                .credentialRefused, known.map { "\(halt.reason!): \($0.meaning)" } ?? halt.message,
                known?.advice ?? "check the credential and its environment")
        case .certificate:
            self.init(
                .credentialRefused, halt.message,
                "check with 'carillon keys show' that the certificate is in force and for this service, and that the "
                    + "app has one if the service asks for it")
        case .providerToken:
            self.init(.configuration, halt.message, "check the key with 'carillon keys show'")
        }
    }

    private init(_ end: ConnectionEnd, of app: Configuration.App) {
        let place = app.place
        switch end.kind {
        case .unreachable:
            self.init(
                .unreachable, end.message,
                "check the host and port (\(place)), that a service listens there, and that DNS and firewalls let this "
                    + "machine reach it")
        case .credential:
            self.init(
                .credentialRefused, end.message, "check with 'carillon keys show' that the certificate is in force")
        case .broken:
            self.init(
                .unreachable, end.message,
                app.endpoint.isApple
                    ? "check this machine's clock and roots (ca-certificates), and that no proxy opens TLS on the way"
                    : "check that \(place) speaks "
                        + (app.gateway.wireProtocol == .binary ? "the binary protocol over TLS" : "HTTP/2 over TLS")
                        + ", that its certificate is in force, and that what is trusted (\(app.endpoint.trust)) is its authority"
            )
        case .silent, .lost, .byUs:
            self.init(
                .unreachable, end.message,
                "check that \(place) is the push service, and that nothing on the way cuts in")
        case .goAway:
            self.init(.tryAgain, end.message, "send it again in a while")
        }
    }
}

extension Verdict {
    /// A call about channels that went wrong.
    init(_ error: ChannelError, of app: Configuration.App, at place: String) {
        switch error {
        case .refused(let refusal, _):
            self.init(refusal)
        case .unreadable(let what):
            self.init(.unknown, "the provider's answer could not be used: \(what)", "list the channels")
        case .notSent(let why):
            self.init(
                .unreachable, "\(place): nothing was sent: \(why)",
                "check the host and port, what is trusted (\(app.endpoint.trust)), and that firewalls let this machine out"
            )
        case .timedOut(let time, wasSent: false):
            self.init(
                .tryAgain, "\(place) could not be asked within \(DurationText.write(time))",
                "check that it is reached from here, or give more time with --timeout")
        case .unanswered, .timedOut, .cancelled, .busy, .closed:
            self.init(.unknown, "\(error)", "look at what there is before you ask again")
        }
    }
}

extension Configuration.App {
    var place: String { "\(endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host):\(endpoint.port)" }
}

import PushGateways
import PushModel
import PushText
import PushWire

/// A verdict as verbs print it: its color, its exit code, and its members in JSON.
extension Verdict {
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

    /// Returns the members of the JSON output.
    func members(of description: ServiceDescription) -> [String: JSONValue?] {
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
        members[description.providerID.replacing("-", with: "_")] = .text(providerID)
        return members
    }
}

extension Verdict.Kind {
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

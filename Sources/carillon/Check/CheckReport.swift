import PushGateways
import PushModel
import PushText
import PushWire

/// The findings of `carillon check`.
struct CheckReport: Sendable {
    let file: String
    let warnings: [String]
    /// The faults that would prevent `serve` from starting.
    let faults: [Failure]
    let checks: [AppCheck]

    /// The most severe code of all apps and faults.
    var code: ExitCode { ExitCode.gravest(checks.map(\.code) + faults.map(\.code)) ?? .done }

    private static let heading = ["app", "topic", "environment", "credential", "expires", "service", "connections"]

    func text(on terminal: Terminal, isConnected: Bool) -> String {
        let heading = Self.heading + (isConnected ? ["verdict"] : [])
        let table = terminal.table(heading, rows: checks.map { $0.row(isConnected: isConnected) }) { column, text in
            guard column == 7 else { return nil }
            return text == "passed" ? .green : .red
        }
        let count = checks.count == 1 ? "1 app" : "\(checks.count) apps"
        return "\(terminal.colored(file, in: .bold)): \(count)\n\(table)" + details(on: terminal)
    }

    private func details(on terminal: Terminal) -> String {
        var lines = warnings.map { "\(terminal.colored("warning", in: .yellow)): \(PlainText.line($0))" }
        lines += faults.map { "\(terminal.colored("fault", in: .red)): \(PlainText.line($0.description, limit: 1000))" }
        for check in checks {
            let name = check.app.id.name
            lines += check.warnings.map {
                "\(name): \(terminal.colored("warning", in: .yellow)): \(PlainText.line($0))"
            }
            if let fault = check.fault {
                lines.append("\(name): \(terminal.colored("fault", in: .red)): \(PlainText.line(fault))")
            }
            guard let verdict = check.verdict else { continue }
            let passed = verdict.kind == .accepted
            let answer = verdict.refusal.map { "\($0.status)\($0.reason.map { " \($0)" } ?? ""): " } ?? ""
            lines.append(
                "\(name): \(terminal.colored(passed ? "passed" : "failed", in: verdict.color)): \(answer)\(verdict.meaning)"
                    + (verdict.advice.map { "; \(PlainText.line($0, limit: 1000))" } ?? ""))
        }
        return lines.isEmpty ? "" : "\n" + lines.joined(separator: "\n") + "\n"
    }

    var json: String {
        MachineLine.text([
            "configuration": .string(file), "ok": .bool(code == .done), "exit_code": .integer(Int64(code.rawValue)),
            "warnings": .texts(warnings), "faults": .texts(faults.map(\.description)),
            "apps": .array(checks.map(\.value)),
        ])
    }
}

extension AppCheck {
    fileprivate func row(isConnected: Bool) -> [String] {
        let connections = app.gateway.connections
        let range =
            connections.lowerBound == connections.upperBound
            ? "\(connections.lowerBound)" : "\(connections.lowerBound) to \(connections.upperBound)"
        let wire = app.apns.wireProtocol == .binary ? " (binary)" : ""
        let row = [
            app.id.name, app.apns.topic.text, app.apns.environment.rawValue, credential, expiry, app.address + wire,
            range,
        ]
        return isConnected ? row + [verdict.map { $0.kind == .accepted ? "passed" : "failed" } ?? "not tried"] : row
    }

    private var credential: String {
        switch app.apns.credential {
        case .key(_, let keyID, let teamID): return "key \(keyID), team \(teamID)"
        case .pkcs12(let path, _), .pem(let path, _, _):
            guard let facts = gateway?.credential.facts else { return "certificate \(PlainText.line(path, limit: 40))" }
            return "certificate \(facts.fingerprint.prefix(16))…"
        }
    }

    private var expiry: String {
        guard let gateway else { return "-" }
        guard let end = gateway.credential.facts.notAfter else { return "never" }
        return KeysShowVerb.distance(end.seconds - now.seconds)
    }

    fileprivate var value: JSONValue {
        let connections = app.gateway.connections
        let facts = gateway?.credential.facts
        var members: [String: JSONValue?] = [
            "app": .string(app.id.name), "topic": .string(app.apns.topic.text),
            "environment": .string(app.apns.environment.rawValue),
            "protocol": .string(app.apns.wireProtocol.rawValue), "service": .string(app.address),
            "connections": [
                "min": .integer(Int64(connections.lowerBound)), "max": .integer(Int64(connections.upperBound)),
            ],
            "warnings": .texts(warnings), "fault": .text(fault), "ok": .bool(code == .done),
            "exit_code": .integer(Int64(code.rawValue)),
        ]
        members["credential"] = facts.map { facts in
            .object(
                [
                    "kind": .string(facts.kind.rawValue), "key_id": .text(facts.keyID), "team_id": .text(facts.teamID),
                    "subject": .text(facts.subject), "fingerprint": .string(facts.fingerprint),
                    "topics": facts.topics.map { .texts($0.map(\.name)) },
                    "expires_at": facts.notAfter.map { .integer($0.milliseconds) },
                    "expires_in_ms": facts.notAfter.map { .integer($0.milliseconds - now.milliseconds) },
                ].compactMapValues { $0 })
        }
        if let verdict {
            var connect = verdict.members
            connect["exit_code"] = nil as JSONValue?
            connect["address"] = .text(address)
            connect["took_ms"] = .milliseconds(took)
            members["connect"] = .object(connect.compactMapValues { $0 })
        }
        return .object(members.compactMapValues { $0 })
    }
}

import PushConfiguration
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

    /// The names of the settings that tell apps apart at their push services.
    private var identityNames: [String] {
        checks.flatMap { $0.app.identity.map(\.name) }.reduce(into: []) { names, name in
            if !names.contains(name) { names.append(name) }
        }
    }

    func text(on terminal: Terminal, isConnected: Bool) -> String {
        let identity = identityNames
        let heading =
            ["app"] + identity + ["credential", "expires", "service", "connections"] + (isConnected ? ["verdict"] : [])
        let rows = checks.map { $0.row(identity, isConnected: isConnected) }
        let table = terminal.table(heading, rows: rows) { column, text in
            guard isConnected, column == heading.count - 1 else { return nil }
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
        return lines.isEmpty ? "" : "\n" + lines.map { terminal.hanging($0, indent: 2) + "\n" }.joined()
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
    /// - Parameter identity: The names of the columns for what tells apps apart.
    fileprivate func row(_ identity: [String], isConnected: Bool) -> [String] {
        let connections = app.gateway.connections
        let range =
            connections.lowerBound == connections.upperBound
            ? "\(connections.lowerBound)" : "\(connections.lowerBound) to \(connections.upperBound)"
        let wire = app.serviceDescription.answers ? "" : " (\(app.wireProtocol))"
        let values = identity.map { app.identity($0) ?? "-" }
        let row =
            [app.id.name] + values
            + [AppGateway.credentialLabel(of: app, read: gateway), expiry, app.address + wire, range]
        return isConnected ? row + [verdict.map { $0.kind == .accepted ? "passed" : "failed" } ?? "not tried"] : row
    }

    private var expiry: String {
        guard let gateway else { return "-" }
        guard let end = gateway.credentialEnd else { return "never" }
        return DurationText.distance(end.seconds - now.seconds)
    }

    fileprivate var value: JSONValue {
        let connections = app.gateway.connections
        var members: [String: JSONValue?] = [
            "app": .string(app.id.name), "protocol": .string(app.wireProtocol),
            "service": .string(app.address),
            "connections": [
                "min": .integer(Int64(connections.lowerBound)), "max": .integer(Int64(connections.upperBound)),
            ],
            "warnings": .texts(warnings), "fault": .text(fault), "ok": .bool(code == .done),
            "exit_code": .integer(Int64(code.rawValue)),
        ]
        for (name, value) in app.identity { members[name] = .string(value) }
        members["credential"] = gateway?.credentialSummary(at: now)
        if let verdict {
            var connect = verdict.members(of: app.serviceDescription)
            connect["exit_code"] = nil as JSONValue?
            connect["address"] = .text(address)
            connect["took_ms"] = .milliseconds(took)
            members["connect"] = .object(connect.compactMapValues { $0 })
        }
        return .object(members.compactMapValues { $0 })
    }
}

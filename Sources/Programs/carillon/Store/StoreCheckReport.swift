import PushPostgreSQL
import PushStore
import PushText
import PushWire

/// The findings of `carillon store check`.
struct StoreCheckReport {
    /// The database, without its password.
    let name: String
    let report: StoreReport

    var code: ExitCode {
        if report.faults.isEmpty { return .done }
        return report.isReached ? .failed : .unavailable
    }

    // MARK: Text

    func text(on terminal: Terminal) -> String {
        var text = terminal.colored(name, in: .bold) + "\n"
        text += terminal.table(
            ["server", "version", "role", "timeline", "synchronous standbys", "clock"], rows: report.servers.map(row))
        if let facts = report.facts {
            text += "\n"
            text += PlainText.rows(
                [
                    ("tables", "version \(facts.version)"),
                    (
                        "partitions",
                        "\(facts.partitions)" + (report.unowned > 0 ? ", \(report.unowned) without owner" : "")
                    ),
                    ("incarnation", StoreAnswer.incarnation(facts)), ("made", facts.created.iso8601),
                ], on: terminal)
        }
        if !report.nodes.isEmpty {
            text += "\n"
            text += terminal.table(
                ["node", "state", "address", "lease ends", "partitions", "version", "started"],
                rows: report.nodes.map(row)
            ) { column, cell in column == 1 && cell != "live" ? .yellow : nil }
        } else if report.facts != nil {
            text += "\nNo node has joined yet.\n"
        }
        if !report.tables.isEmpty {
            text += "\n"
            text += terminal.table(["table", "size", "parts"], rows: report.tables.map(row))
        }
        return text + "\n" + findings(on: terminal)
    }

    private func row(_ server: StoreReport.Server) -> [String] {
        guard let info = server.info else { return ["\(server.host)", "-", "unreachable", "-", "-", "-"] }
        let standbys = PlainText.line(info.synchronousStandbys, limit: 100)
        return [
            "\(server.host)", Self.version(info.version), info.isStandby ? "standby" : "primary",
            info.isStandby ? "-" : "\(info.timeline)", standbys.isEmpty ? "none" : standbys,
            (info.clockOffset < .zero ? "" : "+") + "\(info.clockOffset.wholeMilliseconds)ms",
        ]
    }

    private func row(_ node: StoreReport.Node) -> [String] {
        let state = node.row.isMember && node.row.isExpired ? "expired" : node.row.state.rawValue
        return [
            node.row.id.name, state, PlainText.line(node.row.contact.address, limit: 100),
            node.row.isMember ? node.leaseEnds.iso8601 : "-", "\(node.partitions)",
            PlainText.line(node.version, limit: 40), node.started.iso8601,
        ]
    }

    private func row(_ table: StoreReport.Table) -> [String] {
        [
            PlainText.line(table.name, limit: 100), StatsScreen.size(UInt64(max(0, table.bytes))),
            table.parts.map { "\($0)" } ?? "-",
        ]
    }

    private func findings(on terminal: Terminal) -> String {
        let lines =
            report.warnings.map { "\(terminal.colored("warning", in: .yellow)): \(Self.line($0))" }
            + report.faults.map { "\(terminal.colored("fault", in: .red)): \(Self.line($0))" }
            + (report.faults.isEmpty ? ["\(terminal.colored("passed", in: .green)): nodes can use this store"] : [])
        return lines.map { terminal.hanging($0, indent: 0) + "\n" }.joined()
    }

    private static func line(_ text: String) -> String { PlainText.line(HiddenPassword.line(text), limit: 1000) }

    /// Returns the version as people write it: `15.18` for 150018.
    private static func version(_ number: Int32) -> String { "\(number / 10_000).\(number % 10_000)" }

    // MARK: JSON

    var json: String {
        MachineLine.text([
            "store": .string(name), "ok": .bool(report.faults.isEmpty), "exit_code": .integer(Int64(code.rawValue)),
            "warnings": .texts(report.warnings.map(HiddenPassword.line)),
            "faults": .texts(report.faults.map(HiddenPassword.line)),
            "servers": .array(report.servers.map(value)), "nodes": .array(report.nodes.map(value)),
            "tables": .array(report.tables.map(value)),
            "schema_version": report.facts.map { .integer(Int64($0.version)) },
            "partitions": report.facts.map { .integer(Int64($0.partitions)) },
            "partitions_without_owner": report.facts.map { _ in .integer(Int64(report.unowned)) },
            "incarnation": report.facts.map { .string(StoreAnswer.incarnation($0)) },
            "created_at": report.facts.map { .integer($0.created.milliseconds) },
        ])
    }

    private func value(_ server: StoreReport.Server) -> JSONValue {
        var members: [String: JSONValue?] = [
            "server": .string("\(server.host)"), "reachable": .bool(server.info != nil),
        ]
        if let info = server.info {
            members["version"] = .string(Self.version(info.version))
            members["role"] = info.isStandby ? "standby" : "primary"
            members["timeline"] = info.isStandby ? nil : .integer(info.timeline)
            members["synchronous_standbys"] = .string(info.synchronousStandbys)
            members["clock_offset_ms"] = .milliseconds(info.clockOffset)
            members["round_trip_ms"] = .milliseconds(info.roundTrip)
        }
        members["fault"] = .text(server.fault.map(HiddenPassword.line))
        return .object(members.compactMapValues { $0 })
    }

    private func value(_ node: StoreReport.Node) -> JSONValue {
        [
            "node": .string(node.row.id.name), "state": .string(node.row.state.rawValue),
            "address": .string(node.row.contact.address), "lease_ends_at": .integer(node.leaseEnds.milliseconds),
            "lease_ms": .integer(node.row.lease.wholeMilliseconds), "partitions": .integer(Int64(node.partitions)),
            "version": .string(node.version), "started_at": .integer(node.started.milliseconds),
        ]
    }

    private func value(_ table: StoreReport.Table) -> JSONValue {
        let members: [String: JSONValue?] = [
            "table": .string(table.name), "size_bytes": .integer(table.bytes),
            "parts": table.parts.map { .integer(Int64($0)) },
        ]
        return .object(members.compactMapValues { $0 })
    }
}

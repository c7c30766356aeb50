package import PushModel
import PushPostgreSQL

/// A part of the log that this node carries out.
package struct OpenPart: Sendable, Equatable {
    package let part: Int
    package let epoch: Int64
    /// The number of its newest event when it was opened.
    package let newest: UInt64
}

/// Where webhooks are in the log: a mark of each webhook, which all nodes follow, and a record of each of its parts,
/// which only the owner of the part writes, as long as no operator has moved it.
extension PostgreSQLLedger {
    /// The record of a webhook in a part.
    package struct WebhookPart: Sendable, Equatable {
        /// Ascends when an operator moves the position.
        package let moves: Int64
        package let record: String
    }

    /// Adds a webhook, and the records of the parts that have none.
    package func addWebhook(_ name: String, records: [(part: Int, record: String)]) async throws {
        _ = try await call.run { section in
            section.add(webhook: name, standing: "active", records: records)
        }
    }

    /// The records of a webhook, by part.
    package func webhookParts(of name: String) async throws -> [Int: WebhookPart] {
        let result = try await call.run { section in
            section.call(WebhookStatements.parts) { $0.append(text: name) }
        }[0]
        var parts: [Int: WebhookPart] = [:]
        for row in result.rows {
            guard let part = Int(try row.value(0, as: String.self)) else { continue }
            parts[part] = WebhookPart(moves: try row.value(1), record: try row.value(2))
        }
        return parts
    }

    /// Stores the record of a part. Returns false, and stores nothing, if another node owns the part or an operator has
    /// moved the position.
    package func storeWebhook(
        _ name: String, part: OpenPart, moves: Int64, record: String
    ) async throws -> Bool {
        let result = try await call.run { section in
            section.call(WebhookStatements.store) { parameters in
                parameters.append(text: name)
                parameters.append(int4: Int32(clamping: part.part))
                parameters.append(int8: part.epoch)
                parameters.append(int8: moves)
                parameters.append(text: record)
            }
        }[0]
        return result.affectedRows == 1
    }

    /// Changes the standing of a webhook. Returns the earlier one and the mark; nil, without a change, if the earlier one
    /// is not among those that are expected, or if there were other changes than a caller knows.
    package func setWebhook(
        _ name: String, to standing: String, from expected: [String], after changes: Int64? = nil
    ) async throws -> (before: String, mark: SharedWebhook)? {
        let result = try await call.run { section in
            section.call(WebhookStatements.setStanding) { parameters in
                parameters.append(text: name)
                parameters.append(text: standing)
                parameters.append(textArray: expected)
                parameters.append(int8: changes ?? -1)
            }
        }[0]
        guard result.rowCount == 1 else { return nil }
        let row = try result.row()
        return (try row.value(0), SharedWebhook(changes: try row.value(1), standing: standing))
    }

    /// The mark of a webhook; nil if there is no such webhook.
    package func webhookMark(of name: String) async throws -> SharedWebhook? {
        let result = try await call.run { section in
            section.call(WebhookStatements.mark) { $0.append(text: name) }
        }[0]
        guard result.rowCount == 1 else { return nil }
        let row = try result.row()
        return SharedWebhook(changes: try row.value(0), standing: try row.value(1))
    }

    /// Replaces the records of parts, whoever owns them. Returns the mark; nil if there is no such webhook.
    package func moveWebhook(_ name: String, records: [(part: Int, record: String)]) async throws -> SharedWebhook? {
        let result = try await call.run { section in
            section.call(WebhookStatements.move) { $0.append(webhook: name, records) }
            section.call(WebhookStatements.noteMove) { $0.append(text: name) }
        }[1]
        guard result.rowCount == 1 else { return nil }
        let row = try result.row()
        return SharedWebhook(changes: try row.value(0), standing: try row.value(1))
    }
}

extension PostgreSQLSection {
    /// Adds a webhook, and the records of the parts that have none.
    func add(webhook name: String, standing: String, records: [(part: Int, record: String)]) {
        call(WebhookStatements.add) { parameters in
            parameters.append(text: name)
            parameters.append(text: standing)
        }
        call(WebhookStatements.addParts) { $0.append(webhook: name, records) }
    }
}

extension PostgreSQLParameters {
    fileprivate mutating func append(webhook name: String, _ records: [(part: Int, record: String)]) {
        append(text: name)
        append(int4Array: records.map { Int32(clamping: $0.part) })
        append(textArray: records.map { $0.record })
    }
}

private enum WebhookStatements {
    private static let whole = SharedStatements.webhookKind
    private static let part = SharedStatements.webhookPartKind

    static let add = PostgreSQLStatement.once(
        sql: """
            INSERT INTO carillon.app_marks (app, kind, since, author) VALUES ($1, '\(whole)', 0, $2)
            ON CONFLICT DO NOTHING
            """,
        parameters: [.text, .text])
    static let addParts = PostgreSQLStatement.once(
        sql: """
            INSERT INTO carillon.app_marks (app, kind, node, since, author)
            SELECT $1, '\(part)', p::text, 0, r FROM unnest($2::int[], $3::text[]) AS rows (p, r) ON CONFLICT DO NOTHING
            """,
        parameters: [.text, .int4Array, .textArray])
    static let parts = PostgreSQLStatement(
        "webhook-parts",
        sql: "SELECT node, number, author FROM carillon.app_marks WHERE app = $1 AND kind = '\(part)'",
        parameters: [.text])

    static let mark = PostgreSQLStatement.once(
        sql: "SELECT number, author FROM carillon.app_marks WHERE app = $1 AND kind = '\(whole)'", parameters: [.text])

    /// The lock of the lease lasts until the record is stored, so that the next owner reads it.
    static let store = PostgreSQLStatement(
        "store-webhook",
        sql: """
            WITH held AS MATERIALIZED (
                SELECT part FROM carillon.leases WHERE part = $2 AND epoch = $3 FOR SHARE)
            UPDATE carillon.app_marks SET author = $5 FROM held
            WHERE app = $1 AND kind = '\(part)' AND app_marks.node = held.part::text AND number = $4
            """,
        parameters: [.text, .int4, .int8, .int8, .text])

    static let setStanding = PostgreSQLStatement(
        "set-webhook",
        sql: """
            WITH old AS MATERIALIZED (
                SELECT author FROM carillon.app_marks
                WHERE app = $1 AND kind = '\(whole)' AND author = ANY($3) AND ($4 < 0 OR number = $4) FOR UPDATE)
            UPDATE carillon.app_marks AS mark SET number = number + 1, author = $2 FROM old
            WHERE mark.app = $1 AND mark.kind = '\(whole)' RETURNING old.author, mark.number
            """,
        parameters: [.text, .text, .textArray, .int8])
    static let move = PostgreSQLStatement.once(
        sql: """
            UPDATE carillon.app_marks SET number = number + 1, author = rows.r
            FROM unnest($2::int[], $3::text[]) AS rows (p, r)
            WHERE app = $1 AND kind = '\(part)' AND node = rows.p::text
            """,
        parameters: [.text, .int4Array, .textArray])
    static let noteMove = PostgreSQLStatement.once(
        sql: """
            UPDATE carillon.app_marks SET number = number + 1 WHERE app = $1 AND kind = '\(whole)'
            RETURNING number, author
            """,
        parameters: [.text])
}

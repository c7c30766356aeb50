package import PushModel
import PushPostgreSQL

extension PostgreSQLRegistry {
    package func outranked(
        _ devices: [DeviceID], of audience: Audience, by preferred: [PreferredApp]
    ) async throws -> Set<DeviceID> {
        var tags: [String] = []
        var condition = "true"
        if case .tags(let expression) = audience { condition = expression.condition(&tags, firstParameter: 4) }
        let statement = RegistryStatements.outranked(by: condition, tagCount: tags.count)
        let results = try await sessions.read { [tags] section in
            section.call(statement) { parameters in
                parameters.append(ids: devices)
                parameters.append(textArray: preferred.lazy.map(\.app.name))
                parameters.append(int4Array: preferred.lazy.map { Int32($0.kind.number) })
                for tag in tags { parameters.append(bytea: Array(tag.utf8)) }
            }
        }
        var outranked: Set<DeviceID> = []
        for row in results[0].rows { outranked.insert(try row.deviceID(0)) }
        return outranked
    }
}

extension RegistryStatements {
    /// Selects those of some devices whose users have an active address in one of some apps. Each user is one search of
    /// an index, which ends with the first address.
    ///
    /// - Parameter condition: The condition on the tags of that address, whose parameters begin with the fourth.
    static func outranked(by condition: String, tagCount: Int) -> PostgreSQLStatement {
        let sql = """
            SELECT p.id FROM unnest($1::bytea[]) AS i (id) JOIN carillon.devices p ON p.id = i.id
            WHERE p.account IS NOT NULL AND EXISTS (
                SELECT 1 FROM unnest($2::text[], $3::int[]) AS a (app, kind)
                CROSS JOIN LATERAL (
                    SELECT 1 FROM carillon.devices d
                    WHERE d.account = p.account AND d.app = a.app AND d.kind = a.kind AND d.deactivated IS NULL
                        AND d.token <> '' AND \(condition) LIMIT 1) AS found)
            """
        let types: [PostgreSQLType] = [.byteaArray, .textArray, .int4Array] + (0..<tagCount).map { _ in .bytea }
        return tagCount == 0
            ? PostgreSQLStatement("outranked-devices", sql: sql, parameters: types)
            : .once(sql: sql, parameters: types)
    }
}

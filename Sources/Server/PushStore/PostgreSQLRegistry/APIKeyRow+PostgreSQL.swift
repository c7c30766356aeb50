import PushPostgreSQL
import PushTime

extension APIKeyRow {
    init(_ row: PostgreSQLRow) throws {
        keyId = try row.value(0)
        name = try row.value(1)
        roles = Int(try row.value(2, as: Int32.self))
        apps = try row.optional(3)
        addresses = try row.value(4)
        createdAt = try row.time(5) ?? .distantPast
        expiresAt = try row.time(6)
        allowsBearer = try row.value(7, as: Int32.self) != 0
        rate = try row.optional(8, as: Int64.self).map { Int(clamping: $0) }
        rotatedUntil = try row.time(9)
        revokedAt = try row.time(10)
        bearerDigest = KeyBytes(try row.value(11))
        sealedSecret = KeyBytes(try row.value(12))
    }

    func append(to parameters: inout PostgreSQLParameters) {
        func append(_ time: WallTime?, to parameters: inout PostgreSQLParameters) {
            if let time { parameters.append(int8: time.milliseconds) } else { parameters.appendNull() }
        }
        parameters.append(text: keyId)
        parameters.append(text: name)
        parameters.append(int4: Int32(clamping: roles))
        if let apps { parameters.append(text: apps) } else { parameters.appendNull() }
        parameters.append(text: addresses)
        append(createdAt, to: &parameters)
        append(expiresAt, to: &parameters)
        parameters.append(int4: allowsBearer ? 1 : 0)
        if let rate { parameters.append(int8: Int64(rate)) } else { parameters.appendNull() }
        append(rotatedUntil, to: &parameters)
        append(revokedAt, to: &parameters)
        parameters.append(bytea: bearerDigest.bytes)
        parameters.append(bytea: sealedSecret.bytes)
    }
}

import PushLogic
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// The calls that store one flush.
extension PostgreSQLSection {
    /// Adds the groups of several parts.
    func add(_ entries: [LedgerLane.Entry], now: WallTime) {
        // A group without events changes nothing of the log and the keys, and its number is that of the next group.
        let groups = entries.filter { $0.decided.rows.hasEvents }.map {
            ($0.part.part, StoredGroup($0.decided.rows, of: $0.group))
        }
        call(StoreStatements.addGroups) { parameters in
            parameters.append(int4Array: entries.lazy.map { Int32($0.part.part) })
            parameters.append(int8Array: entries.lazy.map(\.part.epoch))
            parameters.append(int8Array: groups.lazy.map { Int64(bitPattern: $0.1.number) })
            parameters.append(int4: entries.reduce(LedgerHorizon.day(of: now)) { max($0, $1.part.horizon.day) })
            parameters.append(int8: now.milliseconds)
            parameters.append(byteaArray: groups.lazy.map(\.1.keys))
            parameters.append(byteaArray: groups.lazy.map(\.1.log))
            parameters.append(int4: entries.reduce(LedgerHorizon.hour(of: now)) { max($0, $1.part.horizon.hour) })
            let bodies = groups.flatMap { (part, group) in group.bodies.map { (part, $0) } }
            parameters.append(int4Array: bodies.lazy.map { Int32($0.0) })
            parameters.append(int8Array: bodies.lazy.map { Int64(bitPattern: $0.1.first) })
            parameters.append(byteaArray: bodies.lazy.map(\.1.heads))
            parameters.append(byteaArray: bodies.lazy.map(\.1.bodies))
            parameters.append(int4Array: groups.lazy.map { Int32($0.0) })
            parameters.append(byteaArray: groups.lazy.map(\.1.sent))
        }
        for entry in entries { add(entry.decided.rows, of: entry.part) }
    }

    /// Adds the rows that few groups have.
    private func add(_ rows: LedgerRows, of part: LedgerPart) {
        let (number, epoch) = (Int32(part.part), part.epoch)
        for message in rows.scheduled {
            call(StoreStatements.addLater) { parameters in
                parameters.append(int4: number)
                parameters.append(int8: epoch)
                parameters.append(int8: Int64(bitPattern: message.seq))
                parameters.append(int8: message.due.value)
                parameters.append(int8: rows.time.milliseconds)
                parameters.append(int8: Int64(bitPattern: message.key.fingerprint))
                parameters.append(int8: Int64(bitPattern: message.key.storedContent))
                parameters.append(int8: Int64(bitPattern: message.key.audience))
                parameters.append(text: message.app.name)
                parameters.append(bytea: message.body)
            }
        }
        if !rows.removedScheduled.isEmpty {
            remove(rows.removedScheduled, with: StoreStatements.removeLater, part: number, epoch: epoch)
        }
        if !rows.removedCancels.isEmpty {
            remove(rows.removedCancels, with: StoreStatements.removeCancels, part: number, epoch: epoch)
        }
        for cancel in rows.changedCancels {
            call(StoreStatements.changeCancel) { parameters in
                parameters.append(int4: number)
                parameters.append(int8: epoch)
                parameters.append(int8: Int64(bitPattern: cancel.number))
                parameters.append(int8: Int64(clamping: cancel.counts.sent))
                parameters.append(int8: Int64(clamping: cancel.counts.cancelled))
                parameters.append(bytea: Self.bytes(cancel.parts))
            }
        }
        for cancel in rows.addedCancels {
            call(StoreStatements.addCancel) { parameters in
                parameters.append(int4: number)
                parameters.append(int8: epoch)
                parameters.append(int8: Int64(bitPattern: cancel.number))
                parameters.append(int8: rows.time.milliseconds)
                parameters.append(int8: Int64(bitPattern: cancel.fingerprint))
                parameters.append(text: cancel.request.app.name)
                parameters.append(text: cancel.request.id.text)
                parameters.append(text: cancel.request.client ?? "")
                parameters.append(bytea: Self.bytes(cancel.parts))
            }
        }
        for (app, id) in rows.receipts {
            call(StoreStatements.addReceipt) { parameters in
                parameters.append(int4: number)
                parameters.append(int8: epoch)
                parameters.append(text: app.name)
                parameters.append(text: id)
                parameters.append(int8: rows.time.milliseconds)
            }
        }
    }

    private func remove(_ numbers: [UInt64], with statement: PostgreSQLStatement, part: Int32, epoch: Int64) {
        call(statement) { parameters in
            parameters.append(int4: part)
            parameters.append(int8: epoch)
            parameters.append(int8Array: numbers.lazy.map { Int64(bitPattern: $0) })
        }
    }

    static func bytes(_ words: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 * words.count)
        for word in words { bytes.appendWord(word) }
        return bytes
    }
}

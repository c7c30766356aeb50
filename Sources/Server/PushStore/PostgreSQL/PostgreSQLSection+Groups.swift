import PushLogic
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// The calls that store one flush.
extension PostgreSQLSection {
    /// Adds the groups of several parts: a row of each with its keys and its events, and the bodies of its waiting messages
    /// in rows of their own, because they are needed for a shorter time.
    ///
    /// All numbers in a row are relative to the number of the group, or belong to earlier groups. Integers are varints or
    /// little-endian words.
    func add(_ entries: [LedgerLane.Entry], now: WallTime) {
        // A group without events changes nothing of the log and the keys, and its number is that of the next group.
        let groups = entries.filter { $0.decided.rows.hasEvents }
        call(StoreStatements.addGroups) { parameters in
            parameters.append(int4Array: entries.map { Int32($0.part.part) })
            parameters.append(int8Array: entries.map(\.part.epoch))
            parameters.append(int8Array: groups.map { Int64(bitPattern: $0.decided.rows.number) })
            parameters.append(int4: entries.reduce(LedgerHorizon.day(of: now)) { max($0, $1.part.horizon.day) })
            parameters.append(int8: now.milliseconds)
            parameters.append(groups) { StoredKeyRow.append($0.decided.rows, to: &$1) }
            parameters.append(groups) { StoredLogRow.append($0.decided.rows, to: &$1) }
            parameters.append(int4: entries.reduce(LedgerHorizon.hour(of: now)) { max($0, $1.part.horizon.hour) })
            addBodies(of: groups, to: &parameters)
            parameters.append(int4Array: groups.map { Int32($0.part.part) })
            parameters.append(groups) { StoredSentRow.append($0.group, to: &$1) }
        }
        for entry in entries { add(entry.decided.rows, of: entry.part) }
        removeShared(of: entries)
    }

    private func addBodies(of groups: [LedgerLane.Entry], to parameters: inout PostgreSQLParameters) {
        var parts: [Int32] = []
        var firsts: [Int64] = []
        for group in groups {
            for row in group.decided.rows.messages {
                parts.append(Int32(group.part.part))
                firsts.append(Int64(bitPattern: row.first))
            }
        }
        parameters.append(int4Array: parts)
        parameters.append(int8Array: firsts)
        parameters.appendByteaArray { array in
            var bytes: [UInt8] = []
            for group in groups {
                for row in group.decided.rows.messages {
                    bytes.removeAll(keepingCapacity: true)
                    StoredBodies.appendHeads(of: row, to: &bytes)
                    unsafe bytes.withUnsafeBytes { unsafe array.append($0) }
                }
            }
        }
        parameters.appendByteaArray { array in
            for group in groups {
                for row in group.decided.rows.messages {
                    unsafe row.bodies.withUnsafeBytes { unsafe array.append($0) }
                }
            }
        }
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
        addCancels(of: rows, part: number, epoch: epoch)
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

    private func addCancels(of rows: LedgerRows, part number: Int32, epoch: Int64) {
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

extension PostgreSQLParameters {
    /// Appends an array with one value for each group. The groups are encoded one after the other into the same memory.
    fileprivate mutating func append(
        _ groups: [LedgerLane.Entry], encoding encode: (LedgerLane.Entry, inout [UInt8]) -> Void
    ) {
        appendByteaArray { array in
            var bytes: [UInt8] = []
            for group in groups {
                bytes.removeAll(keepingCapacity: true)
                encode(group, &bytes)
                unsafe bytes.withUnsafeBytes { unsafe array.append($0) }
            }
        }
    }
}

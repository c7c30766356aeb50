// Records without hooks, rules and other additions are written directly from their memory, without a copy of each
// record and without a lookup of the statement. Code of the caller can only run to convert a value (`rawValue`,
// `sqlValue`, `encode`). It receives a copy of that value and neither the record nor the transaction, so pointers into
// the records stay valid.
extension Transaction {
    func savePlain<Record>(_ record: UnsafeMutableRawPointer, in table: Table<Record>) throws {
        guard let id = unsafe objectID(of: record, in: table).pointee else {
            return try connection.withStatement(table.insertSQL) {
                try unsafe insertPlain(record, in: table, with: $0)
            }
        }
        try connection.withStatement(table.updateSQL) { statement in
            try unsafe table.bind(UnsafeRawPointer(record), to: statement)
            try table.bindKey(id, to: statement, at: table.fields.count)
            try statement.run()
        }
        if connection.changes == 0 { throw table.notFound(id) }
    }

    /// If it throws, the records are unchanged. The caller must undo the rows.
    func saveAllPlain<Record>(
        _ records: UnsafeMutableRawBufferPointer, from first: Int, in table: Table<Record>
    ) throws {
        guard let start = records.baseAddress else { return }
        let stride = MemoryLayout<Record>.stride
        // The records that were updated. Most calls only insert.
        var updated: Set<Int> = []
        let begin = first * stride
        var offset = begin
        let insert = try connection.take(table.insertSQL)
        defer { connection.giveBack(insert) }
        do {
            while offset < records.count {
                let record = unsafe start + offset
                if unsafe objectID(of: record, in: table).pointee == nil {
                    try unsafe insertPlain(record, in: table, with: insert)
                } else {
                    updated.insert(offset)
                    try unsafe savePlain(record, in: table)
                }
                offset &+= stride
            }
        } catch {
            for offset in Swift.stride(from: begin, to: offset, by: stride) where !updated.contains(offset) {
                unsafe objectID(of: start + offset, in: table).pointee = nil
            }
            guard let error = error as? ActiveObjectError else { throw error }
            throw error.at(offset / stride)
        }
    }

    @inline(__always)
    private func insertPlain<Record>(
        _ record: UnsafeMutableRawPointer, in table: Table<Record>, with statement: Statement
    ) throws(ActiveObjectError) {
        try unsafe table.bind(UnsafeRawPointer(record), to: statement)
        try statement.run()
        unsafe objectID(of: record, in: table).pointee = connection.insertedID
    }

    @inline(__always)
    private func objectID<Record>(
        of record: UnsafeMutableRawPointer, in table: Table<Record>
    ) -> UnsafeMutablePointer<Int64?> {
        unsafe (record + table.idOffset).assumingMemoryBound(to: Int64?.self)
    }
}

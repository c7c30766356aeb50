import ActiveObject
import Foundation

/// One row of a transaction of `RecordCrash`.
struct CrashEntry: ActiveRecord {
    var objectId: Int64?
    var number: Int64
    var part: Int
    var payload: String
}

/// The summary row of a transaction of `RecordCrash`, which shows whether the transaction is complete.
struct CrashSum: ActiveRecord {
    var objectId: Int64?
    var number: Int64
    var parts: Int
    var checksum: Int64
}

enum RecordCrash {
    /// Writes transactions of 1 to 20 rows, each with a summary row, and prints the number of each one after `write`
    /// returned. A test kills the process at a random moment and checks the file.
    ///
    ///   records-crash --file FILE --from NUMBER
    static func run(_ arguments: [String]) async throws -> [Figure] {
        guard let path = value("--file", in: arguments),
            let first = value("--from", in: arguments).flatMap({ Int64($0) })
        else { throw CrashUsage() }
        var options = Database.Options()
        // Checkpoints are frequent, so that some kills happen during a checkpoint.
        options.checkpointPages = 40
        let database = try await Database.open(path, name: nil, options: options)
        for number in first..<first + 1_000_000 {
            try await database.write { transaction in
                var random = UInt64(bitPattern: number) &* 0x9e37_79b9_7f4a_7c15 | 1
                func next() -> UInt64 {
                    random ^= random << 13
                    random ^= random >> 7
                    random ^= random << 17
                    return random
                }
                let parts = Int(next() % 20) + 1
                var checksum: Int64 = 0
                for part in 0..<parts {
                    let payload = String(repeating: "payload ", count: Int(next() % 100)) + "\(next())"
                    var entry = CrashEntry(number: number, part: part, payload: payload)
                    try entry.save(in: transaction)
                    checksum &+= Int64(payload.utf8.count)
                    checksum &*= 31
                }
                var sum = CrashSum(number: number, parts: parts, checksum: checksum)
                try sum.save(in: transaction)
            }
            // One system call writes a line completely or not at all.
            let line = Array("\(number)\n".utf8)
            guard write(1, line, line.count) == line.count else { break }
        }
        await database.close()
        return []
    }
}

private func value(_ option: String, in arguments: [String]) -> String? {
    arguments.firstIndex(of: option).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
}

private struct CrashUsage: Error, CustomStringConvertible {
    var description: String { "records-crash needs --file FILE --from NUMBER" }
}

import PushPostgreSQL

/// Calls of an import, which are sent many at a time: each commit waits for the disk, and for the standby.
struct ImportQueue {
    private static let maxCalls = 512
    private static let maxBytes = 4 << 20

    private let call: StoreCall
    private var calls: [@Sendable (PostgreSQLSection) -> Void] = []
    private var bytes = 0

    init(_ call: StoreCall) {
        self.call = call
    }

    /// Adds what writes a call of about `count` bytes.
    mutating func add(bytes count: Int, write: @escaping @Sendable (PostgreSQLSection) -> Void) async throws {
        calls.append(write)
        bytes += count
        if calls.count >= Self.maxCalls || bytes >= Self.maxBytes { try await flush() }
    }

    /// Sends the rest.
    mutating func flush() async throws {
        // An empty section cannot be sent.
        guard !calls.isEmpty else { return }
        let sent = calls
        (calls, bytes) = ([], 0)
        _ = try await call.run { section in
            for write in sent { write(section) }
        }
    }
}

private import COpenSSL
import Glibc
import PushLoop

/// One session that may be resumed. OpenSSL counts references atomically; each connection gets a copy of its own, so
/// that a connection that fails cannot spoil it for the others.
@safe
final class TLSSavedSession: @unchecked Sendable {
    let pointer: OpaquePointer
    let isSingleUse: Bool

    /// Takes over the caller's reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
        // Whoever shows a TLS 1.3 ticket twice can be recognised by it (RFC 8446 C.4).
        isSingleUse = unsafe SSL_SESSION_get_protocol_version(pointer) >= TLS1_3_VERSION
    }

    deinit {
        unsafe SSL_SESSION_free(pointer)
    }

    var isUsable: Bool {
        guard unsafe SSL_SESSION_is_resumable(pointer) == 1 else { return false }
        let end = unsafe SSL_SESSION_get_time(pointer) + SSL_SESSION_get_timeout(pointer)
        return end > Int(Glibc.time(nil))
    }
}

/// A client's sessions by the name of the server. Bounded; what was stored longest ago goes first.
final class TLSSessionCache: Sendable {
    private static let keysKept = 64
    private static let sessionsPerKey = 4

    private struct Entry {
        var sessions: [TLSSavedSession] = []
        var storedAt: UInt64 = 0
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var clock: UInt64 = 0
    }

    private let state = Locked(State())

    func store(_ session: TLSSavedSession, for key: String) {
        state.withLock { state in
            state.clock += 1
            var entry = state.entries[key] ?? Entry()
            entry.storedAt = state.clock
            if !session.isSingleUse { entry.sessions.removeAll() }
            entry.sessions.append(session)
            if entry.sessions.count > Self.sessionsPerKey { entry.sessions.removeFirst() }
            state.entries[key] = entry
            if state.entries.count > Self.keysKept,
                let oldest = state.entries.min(by: { $0.value.storedAt < $1.value.storedAt })
            {
                state.entries[oldest.key] = nil
            }
        }
    }

    /// The newest session for the key. One that may be used once is gone with it.
    func take(for key: String) -> TLSSavedSession? {
        state.withLock { state in
            guard var entry = state.entries[key] else { return nil }
            entry.sessions.removeAll { !$0.isUsable }
            let session = entry.sessions.last
            if let session, session.isSingleUse { entry.sessions.removeLast() }
            state.entries[key] = entry.sessions.isEmpty ? nil : entry
            return session
        }
    }

    /// After a handshake that failed: whatever was remembered may be the cause.
    func forget(_ key: String) {
        state.withLock { $0.entries[key] = nil }
    }

    var count: Int {
        state.withLock { $0.entries.values.reduce(0) { $0 + $1.sessions.count } }
    }
}

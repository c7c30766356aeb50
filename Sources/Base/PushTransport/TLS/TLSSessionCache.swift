private import COpenSSL
import Glibc
import PushLoop

/// A session that can be resumed. OpenSSL counts references atomically. Each connection uses its own copy, so that a
/// failed connection does not invalidate the session for others.
@safe
final class TLSSavedSession: @unchecked Sendable {
    let pointer: OpaquePointer
    let isSingleUse: Bool

    /// Takes over the caller's reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
        // A client that uses a TLS 1.3 ticket twice can be recognized by it (RFC 8446, appendix C.4).
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

/// A client's sessions by server name. The size is limited; the key that was updated longest ago is removed first.
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

    /// Returns the newest session for the key. A single-use session is removed.
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

    /// Removes the sessions of the key after a failed handshake, since they may be the cause.
    func forget(_ key: String) {
        state.withLock { $0.entries[key] = nil }
    }
}

package import PushModel

/// How far the search for an erased user in stored messages has come.
package enum ErasurePlace: Sendable, Equatable {
    /// Nothing is searched yet. The erasure is noted until its last step.
    case begin
    case waiting(after: UInt64)
    case scheduled(after: UInt64)
    /// All messages were searched, and so many pages are to be overwritten.
    case freePages(left: Int)
    /// They are overwritten, and are made free again.
    case usedPages
    /// Only the write-ahead log is left.
    case log
}

/// One step of the erasure of a user in stored messages.
package struct ErasureStep: Sendable, Equatable {
    /// The number of messages that named the user.
    package let messages: Int
    /// Where the next step begins; nil if this was the last one.
    package let next: ErasurePlace?
    /// The pseudonym under which the erasure is noted, after ``ErasurePlace/begin``.
    package var pseudonym: String?
}

extension LedgerEngine {
    package func begin(_ erasure: UserErasure) async throws(LedgerFault) -> UserErasure {
        try await step(of: erasure, from: .begin).pseudonym.map { erasure.continued(as: $0) } ?? erasure
    }

    private func step(of erasure: UserErasure, from place: ErasurePlace) async throws(LedgerFault) -> ErasureStep {
        let result = await withCheckedContinuation { continuation in
            add(.erase(erasure, place) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Overwrites what is left of the user in the file, too. Each step is as long as a group of the ledger, and other
    /// calls run in between.
    package func erase(_ erasure: UserErasure) async throws(LedgerFault) -> Int {
        var count = 0
        var place: ErasurePlace? = .waiting(after: 0)
        while let next = place {
            let step = try await step(of: erasure, from: next)
            count += step.messages
            place = step.next
        }
        return count
    }
}

package import PushModel

/// How far the search for an erased user in stored messages has come.
package enum ErasurePlace: Sendable, Equatable {
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
}

extension LedgerEngine {
    /// Overwrites what is left of the user in the file, too. Each step is as long as a group of the ledger, and other
    /// calls run in between.
    package func erase(_ erasure: UserErasure) async throws(LedgerFault) -> Int {
        var count = 0
        var place: ErasurePlace? = .waiting(after: 0)
        while let next = place {
            let result = await withCheckedContinuation { continuation in
                add(.erase(erasure, next) { continuation.resume(returning: $0) })
            }
            let step = try result.get()
            count += step.messages
            place = step.next
        }
        return count
    }
}

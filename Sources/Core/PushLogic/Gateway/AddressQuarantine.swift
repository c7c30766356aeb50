import PushRandom
import PushTime

/// The addresses of one host that went silent or failed, and the time until which they are in quarantine.
///
/// Some front ends of a push service accept connections and never answer, while their neighbors do.
struct AddressQuarantine {
    private struct Mark {
        let address: String
        var strikes: Int
        var until: MonotonicTime
    }

    /// The maximum number of bad addresses. When it is exceeded, the one whose quarantine ends first is forgotten.
    static let capacity = 64

    private let quarantine: Backoff
    private var marks: [Mark] = []

    init(quarantine: Backoff) {
        self.quarantine = quarantine
    }

    /// Returns the least used address that is not in quarantine, a random one if several are used equally. Addresses of
    /// the family of the first one come before others: the resolver puts those without a route last. If all are in
    /// quarantine, returns the one whose quarantine ends first. Returns nil if there are no addresses.
    func choose(
        from found: [String], uses: (String) -> Int, now: MonotonicTime, using random: inout SeededRandom
    ) -> String? {
        let free = found.filter { !isQuarantined($0, now: now) }
        let preferred = free.filter { Self.isIPv6($0) == found.first.map(Self.isIPv6) }
        var best: [String] = []
        var minCount = Int.max
        for address in preferred.isEmpty ? free : preferred {
            let count = uses(address)
            if count < minCount {
                minCount = count
                best = []
            }
            if count == minCount { best.append(address) }
        }
        if let chosen = best.randomElement(using: &random) { return chosen }
        return found.min { freeAt($0) < freeAt($1) }
    }

    mutating func failed(_ address: String, now: MonotonicTime, random: Double) {
        if let index = marks.firstIndex(where: { $0.address == address }) {
            marks[index].strikes += 1
            marks[index].until = now + quarantine.delay(afterFailures: marks[index].strikes, random: random)
            return
        }
        if marks.count == Self.capacity, let first = marks.indices.min(by: { marks[$0].until < marks[$1].until }) {
            marks.remove(at: first)
        }
        marks.append(
            Mark(address: address, strikes: 1, until: now + quarantine.delay(afterFailures: 1, random: random)))
    }

    /// Forgets the failures of an address because it answered.
    mutating func answered(_ address: String) {
        marks.removeAll { $0.address == address }
    }

    func isQuarantined(_ address: String, now: MonotonicTime) -> Bool {
        marks.contains { $0.address == address && now < $0.until }
    }

    private static func isIPv6(_ address: String) -> Bool { address.utf8.contains(UInt8(ascii: ":")) }

    private func freeAt(_ address: String) -> MonotonicTime {
        marks.first { $0.address == address }?.until ?? MonotonicTime(nanoseconds: .min)
    }
}

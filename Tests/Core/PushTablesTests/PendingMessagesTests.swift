import TestSupport
import Testing

@testable import PushLogic

@Suite struct PendingMessagesTests {
    /// Compares with a simple list of rows.
    @Test(arguments: 1...12 as ClosedRange<UInt64>) func `PendingMessages behaves like a set of numbers in rows`(
        seed: UInt64
    ) {
        var random = SeededRandom(seed: seed)
        var pending = PendingMessages()
        var rows: [(first: UInt64, count: Int, open: Set<UInt64>, claims: Set<UInt64>)] = []
        var next: UInt64 = 1
        let longest = [1, 5, 70, 300][Int(seed) % 4]
        for _ in 0..<3000 {
            let any = UInt64.random(in: 0...(next + 2), using: &random)
            let row = rows.firstIndex { any >= $0.first && any < $0.first + UInt64($0.count) }
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1:
                next += UInt64.random(in: 0...5, using: &random)
                let count = Int.random(in: 1...longest, using: &random)
                var segment = PendingMessages.Segment(first: next, count: count)
                var open: Set<UInt64> = []
                var claims: Set<UInt64> = []
                for index in 0..<count where index == count - 1 || Int.random(in: 0..<4, using: &random) > 0 {
                    let needsClaim = Bool.random(using: &random)
                    segment.add(index, claims: needsClaim)
                    open.insert(next + UInt64(index))
                    if needsClaim { claims.insert(next + UInt64(index)) }
                }
                pending.append(segment)
                rows.append((next, count, open, claims))
                next += UInt64(count)
            case 2, 3, 4, 5, 6:
                let known = rows.randomElement(using: &random)?.open.sorted().randomElement(using: &random) ?? any
                let seq = Bool.random(using: &random) ? known : any
                let place = rows.firstIndex { $0.open.contains(seq) }
                let completion = pending.complete(seq)
                guard let place else {
                    #expect(completion == .unknown)
                    continue
                }
                rows[place].open.remove(seq)
                #expect(completion == (rows[place].open.isEmpty ? .rowDone(rows[place].first) : .done))
                if Int.random(in: 0..<3, using: &random) == 0 {
                    pending.reopen(seq)
                    rows[place].open.insert(seq)
                }
            case 7:
                pending.compact()
            default:
                #expect(pending.contains(any) == (row.map { rows[$0].open.contains(any) } ?? false))
                let numbers = (0..<20).map { _ in UInt64.random(in: 0...(next + 2), using: &random) }.sorted()
                #expect(pending.open(among: numbers) == numbers.filter { pending.contains($0) })
                #expect(pending.row(of: any) == row.flatMap { rows[$0].open.isEmpty ? nil : rows[$0].first })
                if let row, rows[row].open.contains(any) {
                    let needsClaim = pending.needsClaim(any)
                    #expect(needsClaim == rows[row].claims.contains(any))
                }
                // A row that is done may be removed or not.
                if row == nil {
                    let needsClaim = pending.needsClaim(any)
                    #expect(needsClaim == nil)
                }
                let count = Int.random(in: 0...20, using: &random)
                let touched = rows.first {
                    !$0.open.isEmpty && $0.first < any + UInt64(count) && $0.first + UInt64($0.count) > any
                }
                #expect(pending.openRow(from: any, count: count) == (count > 0 ? touched?.first : nil))
            }
            #expect(pending.count == rows.reduce(0) { $0 + $1.open.count })
        }
        for row in rows {
            let open = (row.first..<row.first + UInt64(row.count)).filter { pending.contains($0) }
            #expect(open == row.open.sorted())
        }
    }
}

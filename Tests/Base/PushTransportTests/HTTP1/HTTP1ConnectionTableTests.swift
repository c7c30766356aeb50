import TestSupport
import Testing

@testable import PushTransport

@Suite struct HTTP1ConnectionTableTests {
    private final class Connection {
        let number: Int

        init(number: Int) {
            self.number = number
        }
    }

    /// A random walk beside a model: an array of the waiting connections in their order.
    @Test("The longest waiting connection is found in any order of events") func findsTheLongestWaiting() {
        var random = SeededRandom(seed: 7)
        var table = HTTP1ConnectionTable<Connection>()
        var open: [Connection] = []
        var waiting: [Int] = []
        var largest = 0
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0,
                1 where open.count < 40:
                let connection = Connection(number: table.reserve())
                #expect(!open.contains { $0.number == connection.number })
                table.add(connection, at: connection.number)
                open.append(connection)
                largest = max(largest, open.count)
                // Numbers are reused, so that they stay small.
                #expect(connection.number < largest)
            case 2:
                guard let index = open.indices.randomElement(using: &random) else { continue }
                let connection = open.remove(at: index)
                table.remove(at: connection.number)
                waiting.removeAll { $0 == connection.number }
            case 3, 4:
                guard let connection = open.randomElement(using: &random) else { continue }
                table.wait(at: connection.number)
                waiting.removeAll { $0 == connection.number }
                waiting.append(connection.number)
            case 5 where Bool.random(using: &random):
                guard let connection = open.randomElement(using: &random) else { continue }
                table.endWait(at: connection.number)
                waiting.removeAll { $0 == connection.number }
            default:
                let longest = table.takeLongestWaiting()
                #expect(longest?.number == (waiting.isEmpty ? nil : waiting.removeFirst()))
            }
            #expect(table.count == open.count)
        }
        #expect(Set(table.all.map(\.number)) == Set(open.map(\.number)))
        #expect(largest > 20)
    }
}

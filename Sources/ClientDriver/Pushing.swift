import CarillonClient
import Glibc

/// Pushes numbered messages, each to a token with its number, until each has its outcome.
struct Pushing {
    private let options: Options
    private let client: CarillonClient
    private let app: String
    private let first: Int
    private let count: Int

    init(_ options: Options) throws {
        self.options = options
        client = try CarillonClient(options.settings())
        app = options["app"] ?? "shop"
        first = options.number("first", or: 0)
        count = options.number("count", or: 1000)
    }

    private struct Tally {
        var outcomes: [String: Int] = [:]
        mutating func count(_ result: Result<PushReceipt, PushError>) {
            switch result {
            case .success(let receipt): outcomes["\(receipt.status)", default: 0] += 1
            case .failure(let error):
                if outcomes["failed", default: 0] < 3 { ClientDriver.report("push failed: \(error)") }
                outcomes["failed", default: 0] += 1
            }
        }
    }

    func run() async throws {
        let running = Task { try await client.run() }
        let clock = ContinuousClock()
        let start = clock.now
        let cpu = Options.usage.seconds
        let tally = options["bulk"] == nil ? await pushSingly() : await pushInBulk()
        let seconds = (clock.now - start) / .seconds(1)
        let each = (Options.usage.seconds - cpu) * 1e6 / Double(max(1, count))
        if options["drain"] != nil {
            while client.spooled > 0 { try await Task.sleep(for: .milliseconds(20)) }
        }
        let outcomes = tally.outcomes.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
        ClientDriver.print(
            "{\(outcomes.joined(separator: ",")),\"spool\":\(client.spooled),\"seconds\":\(seconds),"
                + "\"cpu_us_each\":\(each),\"max_rss_kb\":\(Options.usage.kilobytes)}")
        running.cancel()
        try await running.value
    }

    private func push(_ number: Int) -> Push {
        let digits = String(number, radix: 16)
        let name = String(number)
        var push = Push(
            id: "bench-\(String(repeating: "0", count: max(0, 12 - name.utf8.count)))\(name)", app: app,
            to: .token("b0" + String(repeating: "0", count: max(0, 62 - digits.utf8.count)) + digits),
            alert: Alert(title: "Order 4711", body: "Your parcel is on its way and arrives today."), sound: .standard,
            badge: 1, custom: ["order": 4711])
        push.priority = .high
        push.expiresAt = 4_102_444_800
        return push
    }

    /// Pushes from many tasks, each with one message at a time.
    private func pushSingly() async -> Tally {
        let tasks = options.number("tasks", or: 1000)
        return await withTaskGroup(of: Tally.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    var tally = Tally()
                    for number in stride(from: first + task, to: first + count, by: tasks) {
                        do throws(PushError) {
                            tally.count(.success(try await client.push(push(number))))
                        } catch {
                            tally.count(.failure(error))
                        }
                        if options["announce"] != nil { ClientDriver.print("\(number)") }
                    }
                    return tally
                }
            }
            var all = Tally()
            for await tally in group { all.outcomes.merge(tally.outcomes, uniquingKeysWith: +) }
            return all
        }
    }

    private func pushInBulk() async -> Tally {
        var tally = Tally()
        var number = first
        while number < first + count {
            let end = min(number + 10_000, first + count)
            for result in await client.push(contentsOf: (number..<end).map { push($0) }) { tally.count(result) }
            number = end
        }
        return tally
    }
}

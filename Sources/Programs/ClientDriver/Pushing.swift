import CarillonClient
import Glibc

/// Pushes numbered messages, each to a token with its number, until each has its outcome: `--count` from `--first` on, or
/// those in the file `--numbers`. With `--announce`, the number of each that has a receipt is printed.
struct Pushing {
    private let options: Options
    private let client: CarillonClient
    private let app: String
    private let numbers: [Int]

    init(_ options: Options) throws {
        self.options = options
        client = try CarillonClient(options.settings())
        app = options["app"] ?? "shop"
        if let file = options["numbers"] {
            numbers = try Options.numbers(in: file)
        } else {
            let first = options.number("first", or: 0)
            numbers = Array(first..<(first + options.number("count", or: 1000)))
        }
    }

    private struct Tally {
        private(set) var accepted = 0
        private(set) var duplicate = 0
        private(set) var spooled = 0
        private(set) var failed = 0

        mutating func count(_ result: Result<PushReceipt, PushError>) {
            switch result {
            case .success(let receipt):
                switch receipt.status {
                case .accepted: accepted += 1
                case .duplicate: duplicate += 1
                case .spooled: spooled += 1
                }
            case .failure(let error):
                if failed < 3 { ClientDriver.report("push failed: \(error)") }
                failed += 1
            }
        }

        mutating func add(_ other: Tally) {
            accepted += other.accepted
            duplicate += other.duplicate
            spooled += other.spooled
            failed += other.failed
        }

        var json: String {
            "\"accepted\":\(accepted),\"duplicate\":\(duplicate),\"spooled\":\(spooled),\"failed\":\(failed)"
        }
    }

    func run() async throws {
        let running = Task { try await client.run() }
        let clock = ContinuousClock()
        let start = clock.now
        let cpu = Options.usage.seconds
        let tally = options["bulk"] == nil ? await pushSingly() : await pushInBulk()
        let seconds = (clock.now - start) / .seconds(1)
        let each = (Options.usage.seconds - cpu) * 1e6 / Double(max(1, numbers.count))
        if options["drain"] != nil {
            while client.spooled > 0 { try await Task.sleep(for: .milliseconds(20)) }
        }
        ClientDriver.print(
            "{\(tally.json),\"spool\":\(client.spooled),\"seconds\":\(seconds),"
                + "\"cpu_us_each\":\(each),\"max_rss_kb\":\(Options.usage.kilobytes)}")
        running.cancel()
        try await running.value
    }

    private func push(_ number: Int) -> Push {
        var push = Push(
            id: Self.name("bench-", number: number, radix: 10, digits: 12), app: app,
            to: .token(Self.name("b0", number: number, radix: 16, digits: 62)),
            alert: Alert(title: "Order 4711", body: "Your parcel is on its way and arrives today."), sound: .standard,
            badge: 1, custom: ["order": 4711])
        push.priority = .high
        push.expiresAt = 4_102_444_800
        return push
    }

    /// Returns a prefix and a number with leading zeros.
    private static func name(_ prefix: String, number: Int, radix: Int, digits: Int) -> String {
        let prefix = prefix.utf8
        return String(unsafeUninitializedCapacity: prefix.count + digits) { bytes in
            for (index, byte) in prefix.enumerated() { bytes[index] = byte }
            var rest = number
            for index in (prefix.count..<bytes.count).reversed() {
                let digit = UInt8(truncatingIfNeeded: rest % radix)
                bytes[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                rest /= radix
            }
            return bytes.count
        }
    }

    /// Pushes from many tasks, each with one message at a time.
    private func pushSingly() async -> Tally {
        let tasks = options.number("tasks", or: 1000)
        let announces = options["announce"] != nil
        return await withTaskGroup(of: Tally.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    var tally = Tally()
                    for index in stride(from: task, to: numbers.count, by: tasks) {
                        do throws(PushError) {
                            tally.count(.success(try await client.push(push(numbers[index]))))
                            // What has a receipt is not pushed again after a kill.
                            if announces { ClientDriver.print("\(numbers[index])") }
                        } catch {
                            tally.count(.failure(error))
                        }
                    }
                    return tally
                }
            }
            var all = Tally()
            for await tally in group { all.add(tally) }
            return all
        }
    }

    private func pushInBulk() async -> Tally {
        var tally = Tally()
        var rest = numbers[...]
        while !rest.isEmpty {
            for result in await client.push(contentsOf: rest.prefix(10_000).map { push($0) }) { tally.count(result) }
            rest = rest.dropFirst(10_000)
        }
        return tally
    }
}

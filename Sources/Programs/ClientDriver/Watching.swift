import CarillonClient
import Glibc

/// Reads events, and prints a summary when it has a number of them. It fails at once if an event is there twice.
struct Watching {
    private let options: Options
    private let client: CarillonClient

    /// What names an event.
    private struct Place: Hashable {
        let part: Int
        let number: Int64
    }

    init(_ options: Options) throws {
        self.options = options
        client = try CarillonClient(options.settings())
    }

    func run() async throws {
        let start: EventStart =
            if let file = options["cursor"] { .cursor(file) } else if options["now"] != nil { .now } else { .beginning }
        let (prefix, until) = (options["prefix"] ?? "delivery/", options.number("count", or: 1000))
        let pause = options.number("pause-us", or: 0)
        let prints = options["print"] != nil
        let cpu = Options.usage.seconds
        var count = 0
        var seen: Set<Place> = []
        if until > 0 {
            for try await event in client.events(prefix, from: start) {
                guard seen.insert(Place(part: event.part, number: event.number)).inserted else {
                    ClientDriver.report("event \(event.number) is there twice")
                    exit(1)
                }
                if prints { ClientDriver.print("\(event.number)") }
                count += 1
                if count == until { break }
                if pause > 0 { try await Task.sleep(for: .microseconds(pause)) }
            }
        }
        let each = (Options.usage.seconds - cpu) * 1e6 / Double(max(1, count))
        ClientDriver.print(
            "{\"events\":\(count),\"cpu_us_each\":\(each),\"max_rss_kb\":\(Options.usage.kilobytes)}")
        await client.shutdown()
    }
}

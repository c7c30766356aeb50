import ActiveObject
import Foundation

/// A record with ten columns and a key.
private struct Person: ActiveRecord {
    enum Sex: String, Codable { case female, male }

    var objectId: Int64?
    var name: String
    var age: Int
    var rank: Int
    var votes: Int
    var sex: Sex
    var income: Double
    var active: Bool
    var flags: UInt8
    var rating: Double
    var birthdate: Date

    init(_ number: Int) {
        name = "Person number \(number)"
        age = number % 100
        rank = number % 10
        votes = number * 7
        sex = number % 2 == 0 ? .male : .female
        income = Double(number) * 1.25
        active = number % 3 == 0
        flags = UInt8(number % 256)
        rating = Double(number % 50) / 10
        birthdate = Date(timeIntervalSinceReferenceDate: Double(number) - 1e9)
    }
}

enum RecordBenchmark {
    /// Measures records, or runs one part in a separate process: `records fill FILE [COUNT]`, `records stream FILE`.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        switch (arguments.first, arguments.dropFirst().first) {
        case ("fill", let path?):
            return try await fillBenchmark(path, count: arguments.dropFirst(2).first.flatMap { Int($0) } ?? 1_000_000)
        case ("stream", let path?): return try await streamBenchmark(path)
        default: return try await rowBenchmark(arguments)
        }
    }
}

/// `Tools/bench/records` compares this with a C program that executes the same SQL.
private func rowBenchmark(_ arguments: [String]) async throws -> [Figure] {
    let count = arguments.first.flatMap { Int($0) } ?? 1_000_000
    let finds = arguments.dropFirst().first.flatMap { Int($0) } ?? 300_000
    let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-records-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = try await Database.open(folder.appending(path: "people.db").path(), name: nil)

    let people = (0..<count).map(Person.init)
    let inserted = try await database.write { transaction in
        _ = try Person.find(0, in: transaction)
        let began = processCPU()
        var people = people
        try people.saveAll(in: transaction)
        return (began, people.count)
    }
    let insert = microseconds(since: inserted.0, for: count)

    let read = try await database.read { snapshot in
        let began = processCPU()
        let people = try Person.findAll(in: snapshot)
        let cost = microseconds(since: began, for: people.count)
        guard people.count == count, people.last?.votes == (count - 1) * 7 else { throw RecordBenchmarkError.wrongRows }
        return cost
    }

    let find = try await database.read { snapshot in
        var random: UInt64 = 1
        let began = processCPU()
        for _ in 0..<finds {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let id = Int64(random >> 33) % Int64(count) + 1
            guard let person = try Person.find(id, in: snapshot), person.objectId == id else {
                throw RecordBenchmarkError.wrongRows
            }
        }
        return microseconds(since: began, for: finds)
    }
    await database.close()
    return try [
        Figure(name: "insert, CPU a record", value: insert, unit: "us"),
        Figure(name: "read all, CPU a record", value: read, unit: "us"),
        Figure(name: "find by key, CPU a record", value: find, unit: "us"),
    ] + streamFigures(folder.appending(path: "people.db").path())
}

/// Returns the figures of `records stream` in a separate process, because this process holds a million records.
private func streamFigures(_ path: String) throws -> [Figure] {
    let process = Process()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["records", "stream", path, "--json"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    struct Result: Decodable { let figures: [Figure] }
    return try JSONDecoder().decode(Result.self, from: data).figures
}

private func fillBenchmark(_ path: String, count: Int) async throws -> [Figure] {
    let database = try await Database.open(path, name: nil)
    for start in stride(from: 0, to: count, by: 10_000) {
        try await database.write { transaction in
            var people = (start..<min(count, start + 10_000)).map(Person.init)
            try people.saveAll(in: transaction)
        }
    }
    let rows = try await Person.countAll(in: database)
    await database.close()
    return [Figure(name: "rows", value: Double(rows), unit: "")]
}

/// Measures the peak growth of memory while all rows of a file are read.
private func streamBenchmark(_ path: String) async throws -> [Figure] {
    let database = try await Database.open(path, name: nil)
    // Measure from here, so that the memory that SQLite keeps for the file is included.
    forgetPeak()
    let opened = resident().now
    let beganStream = processCPU()
    var streamed = 0
    for try await person in Person.query.stream(in: database) where person.objectId != nil { streamed += 1 }
    let stream = microseconds(since: beganStream, for: streamed)
    let streamGrowth = resident().peak - opened

    forgetPeak()
    let beforeEach = resident().now
    let beganEach = processCPU()
    let rows = try await database.read { snapshot in
        var rows = 0
        try Person.query.forEach(in: snapshot) { if $0.objectId != nil { rows += 1 } }
        return rows
    }
    let each = microseconds(since: beganEach, for: rows)
    let eachGrowth = resident().peak - beforeEach
    guard streamed == rows, rows > 0 else { throw RecordBenchmarkError.wrongRows }
    await database.close()
    return [
        Figure(name: "forEach, memory", value: eachGrowth, unit: "MiB"),
        Figure(name: "forEach, CPU a record", value: each, unit: "us"),
        Figure(name: "stream, memory", value: streamGrowth, unit: "MiB"),
        Figure(name: "stream, CPU a record", value: stream, unit: "us"),
    ]
}

/// Returns the current and the peak resident memory in MiB.
func resident() -> (now: Double, peak: Double) {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    func value(_ name: String) -> Double {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return line.split(separator: " ").compactMap { Double($0) }.first.map { $0 / 1024 } ?? .nan
    }
    return (value("VmRSS:"), value("VmHWM:"))
}

/// Resets the peak resident memory that Linux reports.
private func forgetPeak() {
    try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
}

private enum RecordBenchmarkError: Error {
    case wrongRows
}

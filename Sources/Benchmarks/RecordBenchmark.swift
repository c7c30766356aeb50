import ActiveObject
import Foundation

/// The record of old, with ten columns beside its key.
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

/// `Tools/bench/records` runs it beside a C program that does the same by SQLite's own calls.
func recordBenchmark(_ arguments: [String]) async throws -> [Figure] {
    let count = arguments.first.flatMap { Int($0) } ?? 1_000_000
    let finds = arguments.dropFirst().first.flatMap { Int($0) } ?? 300_000
    let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-records-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = try await Database.open(folder.appending(path: "people.db").path(), name: nil)

    let people = (0..<count).map(Person.init)
    let inserted = try await database.write { transaction in
        _ = try Person.find(0, in: transaction)
        let began = (processCPU().inSeconds * 1e6)
        var people = people
        try people.saveAll(in: transaction)
        return (began, people.count)
    }
    let insert = ((processCPU().inSeconds * 1e6) - inserted.0) / Double(count)

    let read = try await database.read { snapshot in
        let began = (processCPU().inSeconds * 1e6)
        let people = try Person.findAll(in: snapshot)
        let cost = ((processCPU().inSeconds * 1e6) - began) / Double(people.count)
        guard people.count == count, people.last?.votes == (count - 1) * 7 else { throw RecordBenchmarkError.wrongRows }
        return cost
    }

    let find = try await database.read { snapshot in
        var random: UInt64 = 1
        let began = (processCPU().inSeconds * 1e6)
        for _ in 0..<finds {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let id = Int64(random >> 33) % Int64(count) + 1
            guard let person = try Person.find(id, in: snapshot), person.objectId == id else {
                throw RecordBenchmarkError.wrongRows
            }
        }
        return ((processCPU().inSeconds * 1e6) - began) / Double(finds)
    }
    await database.close()
    return [
        Figure(name: "insert, CPU a record", value: insert, unit: "us"),
        Figure(name: "read all, CPU a record", value: read, unit: "us"),
        Figure(name: "find by key, CPU a record", value: find, unit: "us"),
    ]
}

private enum RecordBenchmarkError: Error {
    case wrongRows
}

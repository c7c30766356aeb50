import Foundation
import TestSupport
import TestTraits
import Testing

/// The compiler must prove that no part of a connection leaves its thread. Code that takes one out must not compile.
@Suite struct ConfinementTests {
    /// Errors of the type checker.
    private static let types = """
        import ActiveObject
        final class Box { var snapshot: Snapshot? }
        func f(_ database: Database) async throws {
            let kept = try await database.read { $0 }  // no
            let inside = try await database.write { [$0] }  // no
            var outside: Snapshot?
            try await database.read { outside = $0 }  // no
            let box = Box()
            try await database.read { box.snapshot = $0 }  // no
            let number = try await database.read { _ in 1 }
            try await database.read { _ in try await database.write { _ in } }  // no
            try await database.write { _ in try await database.read { _ in } }  // no
            let pair: (Int, Transaction) = try await database.write { (number, $0) }  // no
        }
        """

    /// Errors of the flow analysis.
    private static let ways = """
        import ActiveObject
        actor Keeper { func keep(_ snapshot: Snapshot) {} }
        func f(_ database: Database, _ keeper: Keeper) async throws {
            try await database.read { snapshot in
                Task { _ = snapshot }  // no
            }
            try await database.write { transaction in
                Task { await keeper.keep(transaction) }  // no
            }
            try await database.write { transaction in
                Task.detached { try transaction.savepoint {} }  // no
            }
            try await database.write { transaction in
                try transaction.savepoint {}
            }
        }
        """

    @Test(.startsProgram, .enabled(if: ChildProcess.path(of: "swiftc") != nil), arguments: [types, ways])
    func `Code that takes a connection out of its closure does not compile`(source: String) async throws {
        let here = ChildProcess.carillon.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let modules = here.joined(separator: "/") + "/Modules"
        try #require(access(modules + "/ActiveObject.swiftmodule", R_OK) == 0)
        try await withFolder { folder in
            let path = folder + "/Escapes.swift"
            try Data(source.utf8).write(to: URL(filePath: path))
            let root = #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
            let maps = ["CLinux", "CSQLite"].flatMap { module in
                ["-Xcc", "-fmodule-map-file=/\(root)/Sources/System/\(module)/module.modulemap"]
            }
            let ended = try await ChildProcess.run(
                "swiftc",
                [
                    "-swift-version", "6", "-enable-upcoming-feature", "NonisolatedNonsendingByDefault",
                    "-parse-as-library", "-I", modules, "-emit-sil", "-o", "/dev/null", path,
                ] + maps)
            let wrong = ended.errors.split(separator: "\n").compactMap { line -> Int? in
                guard line.hasPrefix(path + ":"), line.contains(": error: ") else { return nil }
                return Int(line.dropFirst(path.count + 1).prefix { $0 != ":" })
            }
            let expected = source.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
                $1.hasSuffix("// no") ? $0 + 1 : nil
            }
            #expect(Set(wrong) == Set(expected), "\(ended.errors)")
        }
    }
}

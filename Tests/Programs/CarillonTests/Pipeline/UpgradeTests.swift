import TestTraits
import Testing

/// Upgrades of real processes: of the directories that earlier versions wrote.
@Suite(.waits) struct UpgradeTests {
    private static let root = #filePath.split(separator: "/").dropLast(5).reduce("") { "\($0)/\($1)" }

    @Test func `Directories of earlier versions are upgraded in place, and newer ones are refused`() async throws {
        try await PythonScene.run(
            "upgrades", "earlier_versions",
            variables: ["CARILLON_FIXTURES=\(Self.root)/Tests/Server/PushStoreTests/Formats/Fixtures"])
    }
}

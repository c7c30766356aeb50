import TestTraits
import Testing

/// Families of apps against simulated push services, with kills of the process.
@Suite(.waits) struct FamilyTests {
    @Test func `A message reaches all apps of a family, or each user in the first that reaches them`() async throws {
        try await PythonScene.run("families", "life")
    }

    @Test func `What waits for one app of a family outlives kills, and a family without it`() async throws {
        try await PythonScene.run("families", "outage")
    }
}

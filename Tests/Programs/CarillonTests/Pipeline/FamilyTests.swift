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

    @Test func `A message to a family is looked up, traced and cancelled under the name of the family`() async throws {
        try await PythonScene.run("families", "lookup")
    }

    @Test func `The audience of a family is counted for each app, as prefer decides`() async throws {
        try await PythonScene.run("families", "audience")
    }

    @Test func `Members that leave, names that change hands and keys for some members change nothing for others`()
        async throws
    {
        try await PythonScene.run("families", "hostile")
    }

    @Test func `A message to a tag of many, killed in its middle, reaches each of them in the words of its locale`()
        async throws
    {
        try await PythonScene.run("families", "crowd")
    }
}
